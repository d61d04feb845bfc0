"""Tables of markup, as notebooks show them."""

from collections.abc import Collection, Iterable, Sequence
from html import escape

_LONGEST = 80  # characters of a cell


def html_table(
    caption: str,
    rows: Iterable[Sequence[str]],
    heads: Sequence[str] = (),
    left: Collection[int] = (0,),
) -> str:
    """A table of cells that are markup already, those of the columns ``left`` to the left."""

    def line(cells: Sequence[str], first: str, others: str) -> str:
        tags = (first, *[others] * (len(cells) - 1))
        sides = (' style="text-align:left"' if k in left else "" for k in range(len(cells)))
        parts = zip(tags, sides, cells, strict=True)
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for tag, side, cell in parts)}</tr>"

    head = f"<thead>{line(heads, 'th', 'th')}</thead>" if heads else ""
    body = "".join(line(row, "td" if heads else "th", "td") for row in rows)
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def text(value: object) -> str:
    """Text with markup escaped, cut where it is long."""
    shown = str(value)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")
