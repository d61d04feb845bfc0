"""Which columns of a table are the two ends of an edge, and which its weight: by their names and
their cells.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import Literal, NamedTuple

from ..checks import users_line
from .errors import GraphError

Column = str | int

SAMPLE_ROWS = 10_000  # the first rows of a table, by whose values its columns are told apart

# Names of the two ends that hardly occur as ids side by side, so that they also betray a header.
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "tgt"),
    ("from", "to"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("fromnodeid", "tonodeid"),
)
WEIGHTS = ("weight", "weights", "strength", "capacity")
# Words in the name of a weight that speak of distances, of which the smaller is the closer.
_DISTANCE = re.compile(
    "dist(ance)?s?|len(gth)?s?|costs?|km|(kilo)?met(re|er)s?|miles?|time|durations?|delays?|latency",
    re.IGNORECASE,
)
# Words in the names of numbers that are no weights, and names that are such as a whole.
_NO_WEIGHT = {
    "id",
    "ids",
    "idx",
    "index",
    "key",
    "row",
    "unnamed",
    "year",
    "month",
    "week",
    "day",
    "date",
    "datetime",
    "timestamp",
    "timestamps",
    "ts",
    "epoch",
    "unixtime",
    "created",
    "since",
    "userid",
}
# Whole numbers that are years, or seconds or milliseconds since 1970 from the year 2001 on.
_TIMES = ((1800, 2100), (10**9, 10**10), (10**12, 10**13))
_NO_WEIGHT_ALONE = ("", "t", "time")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_QUANTITY = re.compile(
    r"""[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?  # a number
    | \d{1,4}(?P<sign>[-/.])\d{1,2}((?P=sign)\d{1,4})?([T\ ]\d.*)?  # a date, perhaps with a time
    | \d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?  # a time""",
    re.IGNORECASE | re.VERBOSE,
)
# A number, perhaps with a unit after it; no date and no time.
_AMOUNT = re.compile(r"\s*[+-]?\d[\d.,]*(?![\d.,:/-])")
_COMPARED = 50  # columns at most that are compared with each other
_COUNTED = "counted from 1; in Python from 0"
_LONGEST = 60  # characters of a name that is shown


class WeightGuess(UserWarning):
    """What says which numbers are taken for the weights, where no name tells."""


class Columns(NamedTuple):
    """The columns of a table that became a graph: names, or positions from 0 where the columns have
    no names.

    >>> print(Columns("Person A", "Person B", "Scenes"))
    columns: 'Person A' – 'Person B', weight 'Scenes'
    >>> print(Columns(0, 1, None))
    columns: 1 – 2, no weight (no header: counted from 1)
    """

    source: Column
    target: Column
    weight: Column | None

    def __str__(self) -> str:
        source, target = map(_shown, self[:2])
        weight = "no weight" if self.weight is None else f"weight {_shown(self.weight)}"
        counted = " (no header: counted from 1)" if isinstance(self.source, int) else ""
        return f"columns: {source} – {target}, {weight}{counted}"


class Wanted(NamedTuple):
    """The columns that were asked for, by name or by position from 0; ``None`` for those that are
    to be found.
    """

    source: Column | None = None
    target: Column | None = None
    weight: Column | Literal[False] | None = None
    """``False``: every weight is 1."""


def fold_name(name: object) -> str:
    """A column name without case and outer spaces."""
    return str(name).strip().casefold()


def choose_columns(
    names: Sequence[object] | None,
    width: int,
    is_numeric: Callable[[int], bool],
    values: Callable[[int], Sequence[object]],
    wanted: Wanted,
    where: str,
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight: as told, else by a known name, else by what the
    columns hold.

    The weight is the one column of numbers that follows an end, else the one before them, unless
    its name is that of a time or an id; `GraphError` where there are several. ``names`` is ``None``
    without a header, and ``values`` gives the distinct values of a column in the first rows.
    """
    source, target, weight = wanted
    if width < 2:
        raise GraphError(
            f"{where}: one column; a tie needs two, the ids of its ends: if a special character "
            "separates them, name it (delimiter=, --delimiter)"
        )
    known = [fold_name(name) for name in names or ()]
    ends = next((pair for pair in ENDS if pair[0] in known and pair[1] in known), None)
    found = () if ends is not None else find_ends(width, values)
    first, second = (
        _find(asked, names, width, where)
        if asked is not None
        else _only(ends[k], known, where)
        if ends
        else found[k]
        for k, asked in enumerate((source, target))
    )
    usual = 2
    if {first, second} == set(found):
        usual = min(found) + 1 + (max(found) == min(found) + 1)
    if first == second:
        raise GraphError(f"{where}: source and target are the same column: name two")
    _warn_of_kinds(names, values, (first, second), where)
    if weight is False:
        return first, second, None
    if weight is not None:
        third = _find(weight, names, width, where)
        if third in (first, second) and is_numeric(third):
            raise GraphError(
                f"{where}: the weight is in the column of an end, {weight!r}: name another, or "
                "other ends"
            )
        return first, second, third
    weights = [_only(name, known, where) for name in WEIGHTS if name in known][:1]
    if not weights:
        weights = _only_number(names, width, is_numeric, values, (first, second), where)
    third = weights[0] if weights else usual
    if third >= width or third in (first, second):
        return first, second, None
    if is_numeric(third):
        return first, second, third if weights else None
    if any(isinstance(value, str) and _AMOUNT.match(value) for value in values(third)):
        column = _shown(third if names is None else str(names[third]))
        warnings.warn(
            f"{where}: column {column} has numbers, but too few to be the weights, so every "
            "weight is 1: name "
            "it as weight (--weight) to be told what is wrong",
            stacklevel=users_line(),
        )
    return first, second, None


def _warn_of_kinds(
    names: Sequence[object] | None,
    values: Callable[[int], Sequence[object]],
    ends: tuple[int, int],
    where: str,
) -> None:
    """Warn where all ids of one end are numbers and all of the other text: they may be ends, and
    rarely are.
    """
    numbers = [
        {not isinstance(value, str) or is_number(value) for value in values(end)} for end in ends
    ]
    if numbers not in ([{True}, {False}], [{False}, {True}]):
        return
    first, second = (_shown(end if names is None else str(names[end])) for end in ends)
    kinds = "numbers and text" if numbers[0] == {True} else "text and numbers"
    warnings.warn(
        f"{where}: the ends {first} and {second} are of two kinds, {kinds}: if they are not the "
        "ends of ties, name "
        "those (source=, target=, --source, --target)",
        stacklevel=users_line(),
    )


def _only_number(
    names: Sequence[object] | None,
    width: int,
    is_numeric: Callable[[int], bool],
    values: Callable[[int], Sequence[object]],
    ends: tuple[int, int],
    where: str,
) -> list[int]:
    """The column of numbers that must be the weight, in a list, where no name says which; none
    where there is none.
    """
    is_named = names is not None and not isinstance(names[0], int)
    others = [k for k in range(width) if k not in ends and is_numeric(k)]
    found = [k for k in others if names is None or may_weigh(names[k])]
    times = [k for k in found if _are_times(values(k))]
    found = [k for k in found if k not in times]
    following = [k for k in found if k > min(ends)]
    chosen = following or (found if is_named else [])
    columns = [str(names[k]) if names is not None and is_named else k for k in chosen]
    if is_named or width > 3:
        check_guess(columns, where)
    if times and not chosen:
        column = _shown(str(names[times[0]]) if names is not None and is_named else times[0])
        warnings.warn(
            f"{where}: column {column} holds years or times, which are no weights, so every "
            f"weight is 1: if they are weights, name them (weight=, --weight {column})",
            WeightGuess,
            stacklevel=users_line(),
        )
    return chosen


def _are_times(values: Sequence[object]) -> bool:
    """Whether different values are all whole numbers that are years, or all times since 1970.

    >>> _are_times(["1998", "2003"]), _are_times([1082040961, 1082155839]), _are_times([1, 2003])
    (True, True, False)
    """
    if len(values) < 2:
        return False
    try:
        numbers = [float(value) for value in values if isinstance(value, str | Real)]
    except ValueError:
        return False
    return any(
        all(number.is_integer() and first <= number <= last for number in numbers)
        for first, last in _TIMES
    )


def may_weigh(name: object) -> bool:
    """Whether numbers of this name may be weights: whether it is not that of a time or an id.

    >>> may_weigh("n_mails"), may_weigh("travel_time")
    (True, True)
    >>> may_weigh("year"), may_weigh("EdgeId"), may_weigh("time")
    (False, False, False)
    """
    words = map(fold_name, _WORD.findall(str(name)))
    return fold_name(name) not in _NO_WEIGHT_ALONE and _NO_WEIGHT.isdisjoint(words)


def check_guess(found: Sequence[Column], where: str) -> None:
    """Say what is taken for the weight though no name tells; `GraphError` where several columns may
    be meant.
    """
    if not found:
        return
    shown = " or ".join(map(_shown, found))
    counted = " (counted from 1)" if isinstance(found[0], int) else ""
    first = _shown(found[0])
    named = f"weight={found[0] if isinstance(found[0], int) else first}, --weight {first}"
    no = "weight=False, --unweighted"
    if len(found) > 1:
        raise GraphError(
            f"{where}: the weight may be {shown}{counted}: name it ({named}), or leave weights "
            f"out ({no})"
        )
    wanted = f"name it to be sure ({named}), or leave weights out ({no})"
    warnings.warn(
        f"{where}: the weight is taken to be {shown}{counted}: {wanted}",
        WeightGuess,
        stacklevel=users_line(),
    )


def weight_attribute(
    edges: Iterable[Mapping[str, object]], wanted: str | None, where: str
) -> str | None:
    """The attribute of edges that is their weight: as told, else named so, else the only numbers;
    ``None`` for none.
    """
    kinds: dict[str, bool] = {}
    texts: dict[str, bool] = {}  # whether all values are texts of numbers
    count = 0
    for attributes in edges:
        count += 1
        for name, value in attributes.items():
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            kinds[name] = kinds.get(name, True) and (is_number or value is None)
            is_text = isinstance(value, str) and _NUMBERS["."].fullmatch(value) is not None
            texts[name] = texts.get(name, True) and is_text
    names = [wanted] if wanted is not None else WEIGHTS
    found = [name for word in names for name in kinds if fold_name(name) == fold_name(word)]
    if found:
        return found[0]
    if wanted is not None and count:
        raise no_attribute(where, wanted, kinds)
    numeric = [name for name, is_numeric in kinds.items() if is_numeric and may_weigh(name)]
    check_guess(list(map(str, numeric)), where)
    written = [name for name, is_text in texts.items() if is_text and may_weigh(name)]
    if written and not numeric:
        warnings.warn(
            f"{where}: the attribute {_shown(str(written[0]))} of the edges holds numbers as text, "
            "so every weight is 1: make them numbers if they are the weights",
            WeightGuess,
            stacklevel=users_line(),
        )
    return numeric[0] if numeric else None


def no_attribute(where: str, wanted: str, names: Iterable[object]) -> GraphError:
    """The error that edges do not have an attribute."""
    return GraphError(
        f"{where}: edges have no attribute {wanted!r}; they have "
        f"{', '.join(map(repr, names)) or 'none'}"
    )


def find_ends(width: int, values: Callable[[int], Sequence[object]]) -> tuple[int, int]:
    """The two columns whose values look like the ends of edges, where nothing else says which they
    are.

    These are the first two. Where one of those holds numbers or dates, such as a year, and two
    columns of names share more values with each other than the first two do, it is those: people
    meet people, years do not.

    >>> table = [(1990, "ann", "bob", 3), (1991, "bob", "cid", 5)]
    >>> find_ends(4, lambda column: [row[column] for row in table])
    (1, 2)
    """
    ends = 0, 1
    if width < 3 or not (holds_quantities(values(0)) or holds_quantities(values(1))):
        return ends
    compared = [values(column) for column in range(min(width, _COMPARED))]
    named = {
        column: set(found)
        for column, found in enumerate(compared)
        if found and not holds_quantities(found)
    }
    most = len(set(compared[0]) & set(compared[1]))
    for pair in combinations(named, 2):
        if (shared := len(named[pair[0]] & named[pair[1]])) > most:
            ends, most = pair, shared
    return ends


def holds_quantities(values: Sequence[object]) -> bool:
    """Whether most values are numbers, dates or times, as texts or not.

    >>> holds_quantities(["ann", "10.0.0.1", "7"]), holds_quantities(["1990-12-31", "7,5", "12:30"])
    (False, True)
    """
    return 2 * sum(
        not isinstance(value, str) or bool(_QUANTITY.fullmatch(value)) for value in values
    ) > len(values)


def columns_taken(names: Sequence[object] | None, chosen: tuple[int, int, int | None]) -> Columns:
    """The columns of the ends and the weight, by name where they have names."""

    def name(position: int) -> Column:
        # Numbers as names are positions that pandas counts.
        return (
            position if names is None or isinstance(names[position], int) else str(names[position])
        )

    first, second, third = chosen
    return Columns(name(first), name(second), None if third is None else name(third))


def warn_of_distances(name: object, where: str) -> None:
    """Warn where the name of a weight says that it is a distance, a cost or a time."""
    if isinstance(name, str) and any(map(_DISTANCE.fullmatch, _WORD.findall(name))):
        warnings.warn(
            f"{where}: the weights are called {_shown(name)}, but a weight is the strength of a "
            "tie: the larger, the "
            "closer; if they are distances, read them as such (weights_are_distances=True, "
            "--weights-are-distances)",
            stacklevel=users_line(),
        )


def _shown(column: Column) -> str:
    """A name in quotes, cut where it is long; a position counted from 1."""
    if isinstance(column, int):
        return str(column + 1)
    return repr(column if len(column) <= _LONGEST else column[: _LONGEST - 3] + "...")


def _find(column: Column, names: Sequence[object] | None, width: int, where: str) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        if 0 <= column < width:
            return int(column)
        raise GraphError(f"{where}: no column {column + 1} ({_COUNTED}): it has {width}")
    if names is None:
        raise GraphError(
            f"{where}: no column {column!r}, for there is no header: give its position ({_COUNTED})"
        )
    if column in names:
        return _only(column, names, where)
    raise GraphError(
        f"{where}: no column {column!r}; it has {', '.join(repr(name) for name in names)}"
    )


def _only(name: object, names: Sequence[object], where: str) -> int:
    """The position of a name that must occur once."""
    if names.count(name) > 1:
        raise GraphError(
            f"{where}: {names.count(name)} columns are named {name!r}: give positions ({_COUNTED})"
        )
    return names.index(name)


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


def distinct_texts(table: Table, column: int) -> list[str]:
    """The distinct texts of a column, without the blanks around them, in any order; empty ones are
    left out.
    """
    return list({text for cell in _cells(table, column) if (text := cell.strip())})


def decimal_point(table: Table, column: int) -> str:
    """What stands before the decimals of a column: a comma where it makes more cells numbers,
    unless of thousands.
    """
    cells = _cells(table, column)
    with_comma = [cell for cell in cells if "," in cell and is_number(cell, ",")]
    with_dot = sum("." in cell and is_number(cell) for cell in cells)
    is_plain = all(_THOUSANDS.fullmatch(cell) for cell in with_comma)
    return "." if is_plain or with_dot >= len(with_comma) else ","


def has_decimal_commas(table: Table) -> bool:
    """Whether columns divided by blanks are regular, and each comma stands in a number beside the
    first two.
    """
    if not table or len({len(row) for row in table}) > 1 or len(table[0]) < 3:
        return False
    with_comma = [(k, cell) for row in table for k, cell in enumerate(row) if "," in cell]
    return bool(with_comma) and all(k > 1 and is_number(cell, ",") for k, cell in with_comma)


def has_header(table: Table) -> bool:
    """Whether the first row names the columns: by known names, or by words above numbers, or beside
    the ends dates.

    >>> has_header([["a", "b", "Weight"]]), has_header([["a", "b", "friend"]])
    (True, False)
    """
    first, rest = table[0], table[1:]
    if any(map(is_number, first)):
        return False
    names = [fold_name(cell) for cell in first]
    if any(source in names and target in names for source, target in ENDS) or not {
        *WEIGHTS
    }.isdisjoint(names[2:]):
        return True
    words = [k for k, cell in enumerate(first) if cell.strip()[:1].isalpha()]
    ends = find_ends(len(first), lambda column: distinct_texts(rest, column))
    if any(
        mostly_numbers(rest, k) or holds_quantities(distinct_texts(rest, k))
        for k in words
        if k not in ends
    ):
        return True
    return len(first) > 1 and all(k in words and mostly_numbers(rest, k) for k in ends)


def may_be_header(table: Table) -> bool:
    """Whether the first row may name the columns, for all that these rows tell: no cell of it
    occurs again below it.
    """
    first, rest = [cell.strip() for cell in table[0]], table[1:]
    return not any(
        holds_quantities([cell]) or cell in distinct_texts(rest, column)
        for column, cell in enumerate(first)
    )


def _cells(table: Table, column: int) -> list[str]:
    return [row[column] for row in table if column < len(row)]
