"""Errors for bad input, damaged files and missing libraries."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_LONGEST = 1000  # characters of a message


class GraphError(ValueError):
    r"""A graph that cannot be read, built or used. The message is one line: what, where, why and what to do.

    >>> str(GraphError("two\nlines")), len(str(GraphError("x" * 10**6)))
    ('two lines', 1000)
    """

    def __init__(self, message: str) -> None:
        line = " ".join(message.splitlines())
        if len(line) > _LONGEST:
            line = f"{line[: _LONGEST - 205]} ... {line[-200:]}"
        super().__init__(line)


def need(module: str, purpose: str) -> ModuleType:
    """The optional ``module``, imported now; where it is missing, an ``ImportError`` that says what needs it.

    >>> need("json", "this example").dumps([1])
    '[1]'
    >>> need("no_such_library", "this example")
    Traceback (most recent call last):
        ...
    ImportError: this example needs no_such_library, which is not installed: pip install no_such_library
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(f"{purpose} needs {package}, which is not installed: pip install {package}") from None


@contextmanager
def naming_damage(what: str, passed: tuple[type[Exception], ...], advice: str = "") -> Iterator[None]:
    """Say in one line that ``what`` is damaged: of damaged files, libraries raise nearly anything but ``passed``."""
    kept: tuple[type[Exception], ...] = (GraphError, *passed)
    try:
        yield
    except kept:
        raise
    except Exception as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).strip()
        reason = reason.rpartition(" is damaged: ")[2] or type(error).__name__
        raise GraphError(f"{what} is damaged: {reason}{advice}") from None
