"""Bad input: one line and exit code 2. Everything else is a bug, and shows itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..lazy import explained
from ..options import OPTIONS


class Refused(typer.TyperException):
    """What was asked for cannot be done; the message says what, where, why and what to do."""

    exit_code = 2


@contextmanager
def refusing(*kinds: type[Exception], about: str = "") -> Iterator[None]:
    """Turn the named exceptions, and no others, into `Refused`, their message after ``about``."""
    try:
        yield
    except kinds as error:
        raise Refused(about + _of_option(reason(error))) from error


def _of_option(message: str) -> str:
    """A message about an option of a training, which begins with its name, as the command has it.

    >>> _of_option("time_limit must be positive")
    '--time-limit must be positive'
    """
    name = message.partition(" ")[0]
    return f"--{name.replace('_', '-')}{message[len(name) :]}" if name in OPTIONS else message


def reason(error: BaseException) -> str:
    """The message of an exception without its ornaments.

    >>> reason(FileNotFoundError(2, "No such file or directory", "ties.tsv"))
    'ties.tsv: No such file or directory'
    >>> reason(KeyError("no node '7'"))
    "no node '7'"
    """
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
        )
    if isinstance(error, ImportError):
        error = explained(error)
    return (
        str(error.args[0])
        if isinstance(error, KeyError) and error.args
        else str(error) or type(error).__name__
    )
