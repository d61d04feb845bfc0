"""The section on a comparison of geometries, including those saved by earlier versions."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import TypeGuard

from ..embedding.record import Json
from .markup import join_words, table

Row = Mapping[str, Json]


def selection(found: Mapping[str, Json] | None) -> str:
    """The table of ``select``, or nothing where it did not run."""
    rows = None if found is None else found.get("rows")
    if found is None or not isinstance(rows, list):
        return ""
    known = [row for row in rows if isinstance(row, Mapping)]
    columns = {head: cell for head, cell in _columns(found).items() if any(map(cell, known))}
    names = [_geometry(row.get("geometry", "")) for row in known]
    won = [row.get("geometry") == found.get("winner") for row in known]
    marked = [f"<strong>{name}</strong> (chosen)" if first else name for name, first in zip(names, won, strict=True)]
    lines = [[name, *(cell(row) for cell in columns.values())] for name, row in zip(marked, known, strict=True)]
    extra = tuple(k for k, head in enumerate(columns, start=1) if head in _EXTRA)
    return (
        '<section id="select" aria-labelledby="select-title"><h2 id="select-title">Choosing the geometry</h2>'
        f"<p>{_words(found, known)}</p>{table('choices', ['geometry', *columns], lines, extra=extra)}"
        f"<p>{_explained(found, known)}</p></section>"
    )


# What narrow screens leave out.
_MEASURES = {"mAP": "map", "tie order": "tie_order", "ρ": "spearman_all"}
_EXTRA = (*_MEASURES, "seeds", "iterations")


def _columns(found: Mapping[str, Json]) -> dict[str, Callable[[Row], str]]:
    """The columns by title: a function from a row to its cell, empty if the row has no value."""
    columns: dict[str, Callable[[Row], str]] = {}
    if _scored(found):
        score = "held-out accuracy" if found.get("by") == "links" else f"score ({escape(str(found.get('goal')))})"
        columns[score] = partial(_cell, "score", ".4f")
        columns |= {head: partial(_cell, key, ".3f") for head, key in _MEASURES.items()}
    columns["violated orders"] = lambda row: _spread(row, "violated_orders")
    if _scored(found):
        columns["difference from the best"] = lambda row: _difference(row, found.get("winner"))
    else:
        columns["held-out errors"] = lambda row: _spread(row, "held_out")
    columns |= {name: partial(_cell, name, ",.0f") for name in ("seeds", "iterations")}
    columns["trained"] = lambda row: {"True": "to the end", "False": "dropped early"}.get(str(row.get("kept")), "")
    return columns


def _scored(found: Mapping[str, Json]) -> bool:
    """Whether a score decided; earlier versions held out edges instead."""
    return isinstance(found.get("by"), str)


def _words(found: Mapping[str, Json], rows: list[Row]) -> str:
    """The winner, the geometries within noise of it, and the prior."""
    winner = found.get("winner")
    words = [f"Chosen: {_geometry(winner)}."] if winner else []
    near = found.get("within_noise_of")
    others = [_geometry(name) for name in near if name != winner] if isinstance(near, list) else []
    alone = any(row.get("geometry") == winner and row.get("seeds") == 1 for row in rows)
    if found.get("within_noise"):
        told = (
            "With one seed it cannot be distinguished from"
            if alone
            else "Within two standard errors of it across the seeds:"
        )
        words.append(f"{told} {join_words(others) or 'another'}.")
    elif alone and _scored(found):
        words.append("With one seed, differences may be noise.")
    prior = found.get("prior")
    if isinstance(prior, Mapping) and prior:
        hints = ", ".join(f"{_geometry(name)} {_number(value, '.3f')}" for name, value in prior.items())
        words.append(f"Prior from the shape of the graph: {hints}.")
    return " ".join(words)


def _explained(found: Mapping[str, Json], rows: list[Row]) -> str:
    """What the columns mean."""
    if not _scored(found):
        return (
            "Held-out errors: how often a tie that was hidden from training lies farther apart than an untied pair. "
            "For this and for violated orders, chance level is 50 % and 0 % is best."
        )
    said = {
        "links": "Held-out accuracy: how often a tie that was hidden from training lies closer together than an untied "
        "pair. Chance level is 0.5; 1 is best.",
        "neighbours": "The score is mAP; 1 is best.",
        "ties": "The score is tie order (mAP where all weights are equal); 1 is best.",
        "hierarchy": "The score is ρ (mAP where all strengths are equal); 1 is best.",
        "balanced": "The score is the mean of mAP, tie order and ρ, where they are defined; 1 is best.",
    }
    what = said.get(str(found.get("by")), said.get(str(found.get("goal")), ""))
    error = any(_is_number(row.get("difference_error")) for row in rows)
    over = ", mean over the seeds ± its standard error" if error else ""
    return f"{what} Difference from the best: after the same number of iterations{over}."


def _cell(key: str, form: str, row: Row) -> str:
    return _number(row.get(key), form)


def _difference(row: Row, winner: Json) -> str:
    mean, error = row.get("difference"), row.get("difference_error")
    if not _is_number(mean) or row.get("geometry") == winner:
        return ""
    return f"{mean:+.4f} ± {error:.4f}" if _is_number(error) else f"{mean:+.4f}"


def _spread(row: Row, key: str) -> str:
    """A share with its spread over the seeds, in per cent."""
    mean, spread = row.get(key), row.get(f"{key}_spread")
    if not _is_number(mean):
        return ""
    around = f" ± {100 * spread:.2f}" if _is_number(spread) else ""
    return f"{100 * mean:.2f}{around} %"


def _geometry(name: Json) -> str:
    """Q^{3,1} or R^4 as HTML.

    >>> _geometry("Q^{3,1}"), _geometry("R^4"), _geometry("<b>")
    ('<i>Q</i><sup>3,1</sup>', '<i>R</i><sup>4</sup>', '&lt;b&gt;')
    """
    return re.sub(r"\b([QR])\^[{(]?(\d+(?:,\d+)?)[})]?", r"<i>\1</i><sup>\2</sup>", escape(str(name)))


def _number(value: Json, form: str) -> str:
    return f"{value:{form}}" if _is_number(value) else escape(str(value or ""))


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
