"""What the cells of a table of text are: numbers or words, the names of a header or the first row of values."""

import re
from collections.abc import Sequence

from .columns import ENDS, find_ends, fold_name, holds_quantities

Table = Sequence[Sequence[str]]

# What Arrow reads as a number, by the character before its decimals.
_NUMBERS = {
    point: re.compile(
        rf"\s*[+-]?((\d+{re.escape(point)}?\d*|{re.escape(point)}\d+)(e[+-]?\d+)?|nan|inf|infinity)\s*",
        re.IGNORECASE | re.ASCII,
    )
    for point in ".,"
}
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)


def is_number(cell: str, point: str = ".") -> bool:
    """Whether a cell is a number as Arrow reads one, NaN and infinities included."""
    return _NUMBERS[point].fullmatch(cell) is not None


def is_strength(cell: str, point: str = ".") -> bool:
    """Whether a cell is a finite number above 0, as a weight is."""
    return is_number(cell, point) and 0 < float(cell.replace(point, ".")) < float("inf")


def mostly_numbers(table: Table, column: int) -> bool:
    """Whether more than half of a column's cells are numbers."""
    cells, point = _cells(table, column), decimal_point(table, column)
    return 2 * sum(is_number(cell, point) for cell in cells) > len(cells)


def distinct_values(table: Table, column: int) -> list[str]:
    """The distinct texts of a column, without the blanks around them, in any order; empty ones are left out."""
    return list({text for cell in _cells(table, column) if (text := cell.strip())})


def decimal_point(table: Table, column: int) -> str:
    """What stands before the decimals of a column: a comma where it makes more cells numbers, unless of thousands."""
    cells = _cells(table, column)
    with_comma = [cell for cell in cells if "," in cell and is_number(cell, ",")]
    with_dot = sum("." in cell and is_number(cell) for cell in cells)
    is_plain = all(_THOUSANDS.fullmatch(cell) for cell in with_comma)
    return "." if is_plain or with_dot >= len(with_comma) else ","


def has_decimal_commas(table: Table) -> bool:
    """Whether columns divided by blanks are regular, and each comma stands in a number beside the first two."""
    if not table or len({len(row) for row in table}) > 1 or len(table[0]) < 3:
        return False
    with_comma = [(k, cell) for row in table for k, cell in enumerate(row) if "," in cell]
    return bool(with_comma) and all(k > 1 and is_number(cell, ",") for k, cell in with_comma)


def has_header(table: Table) -> bool:
    """Whether the first row names the columns: by known names, or by words above numbers, or beside the ends dates."""
    first, rest = table[0], table[1:]
    if any(map(is_number, first)):
        return False
    names = [fold_name(cell) for cell in first]
    if any(source in names and target in names for source, target in ENDS):
        return True
    words = [k for k, cell in enumerate(first) if cell.strip()[:1].isalpha()]
    ends = find_ends(len(first), lambda column: distinct_values(rest, column))
    if any(mostly_numbers(rest, k) or holds_quantities(distinct_values(rest, k)) for k in words if k not in ends):
        return True
    return len(first) > 1 and all(k in words and mostly_numbers(rest, k) for k in ends)


def may_be_header(table: Table) -> bool:
    """Whether the first row may name the columns, for all that these rows tell: no cell of it occurs again below it."""
    first, rest = [cell.strip() for cell in table[0]], table[1:]
    return not any(
        holds_quantities([cell]) or cell in distinct_values(rest, column) for column, cell in enumerate(first)
    )


def _cells(table: Table, column: int) -> list[str]:
    return [row[column] for row in table if column < len(row)]
