"""Checks of arguments. Each error names the argument, the rule it breaks and its value."""

import difflib
import math
import operator
import sys
from collections.abc import Collection, Iterable
from numbers import Real
from types import FrameType
from typing import TypeGuard

_LONGEST = 80  # characters of an id in a message or on a terminal


def cut(text: str) -> str:
    """Text as a message may show it: of a long one the beginning and the end.

    >>> cut("ann"), len(cut("x" * 70_000))
    ('ann', 81)
    """
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """``"; did you mean …?"``, or nothing where no known word is near.

    >>> suggestion("karat", ["karate", "davis"])
    '; did you mean karate?'
    """
    near = difflib.get_close_matches(word, known, n=3)
    return f"; did you mean {', '.join(map(cut, near))}?" if near else ""


def is_number(value: object) -> TypeGuard[float]:
    """Whether value is a real number, of Python or NumPy; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def format_number(value: float) -> str:
    """All digits of a number and no more: -4, -0.3."""
    return repr(value).removesuffix(".0")


def percent(share: float, digits: int = 2) -> str:
    """A share in per cent; 100 and 0 only where it is so, and below 1 and above 99 always two
    ``digits``.

    >>> percent(1.0), percent(0.999999), percent(0.25), percent(0.25, 1)
    ('100 %', '99.99 %', '25.00 %', '25.0 %')
    """
    if share in (0.0, 1.0) or not math.isfinite(share):
        return f"{100 * share:.0f} %"
    value = min(max(100 * share, 0.01), 99.99)
    return f"{value:.{2 if value < 1 or value > 99 else digits}f} %"


def check_positive(name: str, value: float, *, zero: bool = False) -> None:
    """Raise unless value is a finite positive (or, with ``zero``, non-negative) number."""
    rule = f"{name} must be a finite {'non-negative' if zero else 'positive'} number"
    # Comparisons alone, which torch.compile can follow when the number changes; NaN fails them all.
    if not is_number(value):
        raise TypeError(f"{rule}, got {value!r}")
    if not (0.0 <= value < math.inf) or (value == 0.0 and not zero):
        raise ValueError(f"{rule}, got {value}")


def check_fraction(name: str, value: float) -> None:
    """Raise unless value is a number in [0, 1)."""
    if not is_number(value):
        raise TypeError(f"{name} must be a number in [0, 1), got {value!r}")
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name} must be in [0, 1), got {value}")


def as_integer(name: str, value: object) -> int:
    """Value as an int; raise unless it is an integer, or a tensor that holds one."""
    if (
        isinstance(value, bool)
        or str(getattr(value, "dtype", "")).endswith("bool")
        or not hasattr(value, "__index__")
    ):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:  # a tensor that is not one integer
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def check_count(name: str, value: int, least: int) -> int:
    """Value as an int; raise unless it is an integer of at least ``least``."""
    count = as_integer(name, value)
    if count < least:
        rule = "not be negative" if least == 0 else f"be at least {least}"
        raise ValueError(f"{name} must {rule}, got {count}")
    return count


def as_flag(name: str, value: object, instead: str = "") -> bool:
    """Value as a bool; raise unless it is True or False, of Python or NumPy."""
    of_numpy = str(getattr(value, "dtype", "")) == "bool" and getattr(value, "shape", None) == ()
    if isinstance(value, bool) or of_numpy:
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {value!r}{instead}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless value is one of the words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_callable(name: str, value: object) -> None:
    """Raise unless value can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {value!r}")


def users_line() -> int:
    """The ``stacklevel`` by which a warning points at the line outside of this package that called
    it, however many functions lie between.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(frame: FrameType) -> bool:
    package = __name__.partition(".")[0]
    return str(frame.f_globals.get("__name__")).partition(".")[0] == package
