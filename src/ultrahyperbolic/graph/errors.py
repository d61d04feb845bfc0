"""Errors for bad input, damaged files and missing libraries."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

LINE = 4 << 20  # bytes of a line of text
COLUMNS = 10_000
ID = 64 << 10  # bytes of an id
TOO_LONG = f"longer than {ID >> 10} KiB: shorten it, or name the columns of the ids"
MATRIX_ROWS = 1_000_000  # of a matrix, and one more for each byte of its file
DEPTH = 100  # elements of XML within each other
# the part of a compressed file's limit that is left to formats whose content is held as objects
OBJECTS = 4

_SMALL, _OF_SMALL, _EXPANSION = 1 << 20, 16 << 20, 64


def most_bytes(size: int) -> int:
    """How many bytes a compressed file of ``size`` bytes may hold.

    >>> most_bytes(1000) >> 20, most_bytes(10 << 20) >> 20
    (16, 640)
    """
    return _OF_SMALL if size <= _SMALL else _EXPANSION * size


def most_rows(size: int) -> int:
    """How many rows a file of ``size`` bytes may declare, which a format that packs its rows need
    not spell out.

    >>> most_rows(1000)
    4194304
    """
    return most_bytes(size) // 4


_LONGEST = 1000  # characters of a message


class GraphError(ValueError):
    r"""A graph that cannot be read, built or used. The message is one line: what, where, why and
    what to do.

    >>> str(GraphError("two\nlines")), len(str(GraphError("x" * 10**6)))
    ('two lines', 1000)
    """

    def __init__(self, message: str) -> None:
        line = " ".join(message.splitlines())
        if len(line) > _LONGEST:
            line = f"{line[: _LONGEST - 205]} ... {line[-200:]}"
        super().__init__(line)


def need(module: str, purpose: str) -> ModuleType:
    """The optional ``module``, imported now; where it is missing, an ``ImportError`` that says what
    needs it.

    >>> need("json", "this example").dumps([1])
    '[1]'
    >>> need("no_such_library", "this example")
    Traceback (most recent call last):
        ...
    ImportError: this example needs no_such_library, which is not installed: pip install
    no_such_library
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(
            f"{purpose} needs {package}, which is not installed: pip install {package}"
        ) from None


@contextmanager
def naming_damage(what: str, passed: tuple[type[Exception], ...]) -> Iterator[None]:
    """Say in one line that ``what`` is damaged: of damaged files, libraries raise nearly anything
    but ``passed``.
    """
    kept: tuple[type[Exception], ...] = (GraphError, *passed)
    try:
        yield
    except kept:
        raise
    except Exception as error:
        reason = (
            "it is nested too deeply" if isinstance(error, RecursionError) else str(error).strip()
        )
        reason = reason.rpartition(" is damaged: ")[2] or type(error).__name__
        raise GraphError(f"{what} is damaged: {reason}") from None
