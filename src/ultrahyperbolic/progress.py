"""The progress bar of everything that takes long: on stderr, and on a terminal alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Timer

Update = Callable[[float, str], None]
# Work that is over within so many seconds shows no bar.
_DELAY = 0.5


@contextmanager
def bar(title: str, total: float | None = None, *, show: bool = True) -> Iterator[Update]:
    """A bar for the work done inside; what it yields is told how much is complete, and a text to show beside it.

    Without a ``total`` the bar only says that work goes on. Nothing is shown unless stderr is a terminal, nor of work
    that is soon over, nor where rich is not installed.

    >>> with bar("counting", 3) as update:
    ...     for k in range(3):
    ...         update(k + 1, f"at {k}")
    """
    if not show or not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda completed, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:  # a terminal on which nothing can be drawn over
        yield lambda completed, text: None
        return
    # Titles may hold ids and names of files, in which brackets mean nothing.
    columns = [TextColumn("{task.description}", markup=False), BarColumn()]
    columns += [] if total is None else [MofNCompleteColumn()]
    columns += [TextColumn("{task.fields[text]}", markup=False), TimeElapsedColumn()]
    shown = Progress(*columns, console=console, transient=True)
    task = shown.add_task(title, total=total, text="")
    timer = Timer(_DELAY, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda completed, text: shown.update(task, completed=completed, text=text)
    finally:
        timer.cancel()
        timer.join()
        if shown.live.is_started:
            shown.stop()
