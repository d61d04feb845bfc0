"""What Ctrl-C and a polite kill do while something long runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
