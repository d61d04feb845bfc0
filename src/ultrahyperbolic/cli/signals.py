"""What Ctrl-C and a polite kill do, from the first line of the command to its last."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import AbstractContextManager, contextmanager, suppress

TYPE_CHECKING = False  # typing takes longer to import than all of the above
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn, TypeVar

    T = TypeVar("T")

_ours = False  # whether this process does nothing but run the command


@contextmanager
def answering() -> Iterator[None]:
    """Answer Ctrl-C with a line and the end of the process, wherever the command has no better
    answer.
    """
    global _ours
    _ours = True
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: end("interrupted", 130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and said


@contextmanager
def on_interrupt(
    act: Callable[[], object], which: signal.Signals = signal.SIGINT
) -> Iterator[None]:
    """Call ``act`` on Ctrl-C, or another signal, unless whoever started us wants it ignored."""
    before = signal.getsignal(which)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(which, lambda number, frame: act())
    try:
        yield
    finally:
        signal.signal(which, before)


def leaving(message: str) -> AbstractContextManager[None]:
    """End everything on Ctrl-C, with a line: for work of which a part is nothing."""
    return on_interrupt(lambda: end(message, 130))


def cut_short(work: Callable[[], T]) -> tuple[T | None, int]:
    """Do some work until Ctrl-C or a polite kill; its result, if it came to one, and the exit code
    of that, or 0.
    """
    result, pressed = None, 0

    def press(code: int) -> None:
        nonlocal pressed
        pressed = code
        raise KeyboardInterrupt

    try:
        with on_interrupt(lambda: press(130)), on_interrupt(lambda: press(143), signal.SIGTERM):
            result = work()
    except KeyboardInterrupt:
        return None, pressed or 130
    except (
        Exception
    ):  # of any type: compilers make exceptions of their own of what a handler raises
        if not pressed:
            raise
    return result, pressed


def end(message: str, code: int) -> NoReturn:
    """Say a line and leave at once.

    Imports and compilers swallow what a handler raises, or make another exception of it: nothing is
    raised, and the process ends here. Whoever runs the application in a process of their own gets a
    ``SystemExit``.
    """
    if not _ours:
        print(message, file=sys.stderr)
        raise SystemExit(code)
    clean = "\r\x1b[2K" if os.isatty(2) else ""  # where a line of progress may stand
    with suppress(OSError):
        os.write(2, f"{clean}{message}\n".encode(sys.stderr.encoding, "backslashreplace"))
    os._exit(code)
