"""What Ctrl-C does while something long runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` on Ctrl-C, unless whoever started us wants it ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return

    def handle(number: int, frame: Any) -> None:
        act()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
