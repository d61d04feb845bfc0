"""What Ctrl-C and a polite kill do while something long runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


@contextmanager
def on_interrupt(act: Callable[[], None], which: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Call ``act`` on Ctrl-C, or another signal, unless whoever started us wants it ignored."""
    before = signal.getsignal(which)
    if before is signal.SIG_IGN:
        yield
        return

    def handle(number: int, frame: Any) -> None:
        act()

    signal.signal(which, handle)
    try:
        yield
    finally:
        signal.signal(which, before)


def leaving(message: str) -> AbstractContextManager[None]:
    """End everything on Ctrl-C, with a line: for work of which a part is nothing.

    A training would return its best so far instead, and what comes after would be made of that.
    """

    def leave() -> None:
        print(message, file=sys.stderr)
        raise SystemExit(130)

    return on_interrupt(leave)
