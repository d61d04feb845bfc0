"""Pieces of HTML and of sentences that several parts of the page use."""

import math
from collections.abc import Iterable
from html import escape
from itertools import count

_NAME = 24


def table(kind: str, heads: Iterable[str], rows: Iterable[Iterable[str]], *, extra: tuple[int, ...] = ()) -> str:
    """A table of cells that are markup already; narrow screens leave the columns ``extra`` out."""

    def cells(tag: str, contents: Iterable[str]) -> str:
        kinds = ("extra" if k in extra else "cell" for k in count())
        return "".join(f'<{tag} class="{kind}">{cell}</{tag}>' for kind, cell in zip(kinds, contents, strict=False))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<table class="{kind}"><thead><tr>{cells("th", heads)}</tr></thead><tbody>{body}</tbody></table>'


def short_name(name: str) -> str:
    """The name of a node, cut where it is long.

    >>> short_name("<Ann>")
    '<bdi>&lt;Ann&gt;</bdi>'
    """
    if len(name) <= _NAME:
        return f"<bdi>{escape(name)}</bdi>"
    return f'<bdi title="{escape(name)}">{escape(name[:_NAME])}…</bdi>'


def percent(share: float) -> str:
    """A share in per cent; 100 and 0 only if they are exact.

    >>> percent(1.0), percent(0.999999), percent(0.25)
    ('100 %', '99.99 %', '25.0 %')
    """
    if share in (0.0, 1.0) or not math.isfinite(share):
        return f"{100 * share:.0f} %"
    value = min(max(100 * share, 0.01), 99.99)
    return f"{value:.2f} %" if value < 1 or value > 99 else f"{value:.1f} %"


def join_words(words: list[str]) -> str:
    """Words in a sentence.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
