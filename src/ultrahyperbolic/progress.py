"""Progress on a terminal: one line on stderr that moves as long as there is work."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import RLock, Timer
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.live import Live

Update = Callable[[float, str], None]
_DELAY = 0.5  # seconds; work that is over sooner shows nothing
_WIDTH = 30  # of a bar, in characters
_IMPORTED = time.monotonic()
_clock_from: float | None = None  # set by the command: its clock shows how long the user has waited


@contextmanager
def bar(title: str, total: float | None = None, *, show: bool = True) -> Iterator[Update]:
    """Show that work is going on; call what it yields with how much is complete and a text to show
    beside it.

    Without a ``total`` there is no bar, only a title and a clock. Bars may be nested: the line
    shows the innermost, so that an outer one covers the time between the others. Nothing is shown
    unless stderr is a terminal, nor for work that is soon over.

    >>> with bar("counting", 3) as update:
    ...     for k in range(3):
    ...         update(k + 1, f"at {k}")
    """
    if not show or not _is_terminal(sys.stderr):
        yield lambda completed, text: None
        return
    task = _Task(title, total)
    _LINE.begin(task)
    try:
        yield task.update
    finally:
        _LINE.end(task)


def count_from_start() -> None:
    """Let clocks show the time since the program began: how long the user of the command has
    waited.
    """
    global _clock_from
    _clock_from = _IMPORTED


def waited() -> float | None:
    """Seconds since the command was started; None unless `count_from_start` was called."""
    return None if _clock_from is None else time.monotonic() - _clock_from


@dataclass
class _Task:
    title: str
    total: float | None
    completed: float = 0.0
    text: str = ""

    def update(self, completed: float, text: str) -> None:
        self.completed, self.text = completed, text


class _Line:
    """The line, of which there is one: tasks that began later are drawn in place of the earlier
    ones.
    """

    def __init__(self) -> None:
        self.tasks: list[_Task] = []
        self._lock = RLock()
        self._live: Live | None = None

    def begin(self, task: _Task) -> None:
        with self._lock:
            self.tasks.append(task)
            if len(self.tasks) > 1:
                return
            self._began = time.monotonic() if _clock_from is None else _clock_from
            delay = max(0.0, self._began + _DELAY - time.monotonic())
            self._timer = Timer(delay, self._show, [sys.stderr])
            self._timer.daemon = True
            self._timer.start()

    def end(self, task: _Task) -> None:
        with self._lock:
            self.tasks.remove(task)
            if self.tasks:
                return
            self._timer.cancel()
            live, self._live = self._live, None
        if live is not None:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()  # what others wrote without a line break waits in Rich
            live.stop()

    def _show(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        class Screen(Console):
            def show_cursor(self, show: bool = True) -> bool:
                return False  # it is never hidden: whoever is killed could not bring it back

        console = Screen(
            file=cast("TextIO", _Careful(stream)),
            force_terminal=True,
            markup=False,
            emoji=False,
            highlight=False,
            soft_wrap=True,
        )

        def row() -> Text:
            clock = str(timedelta(seconds=int(time.monotonic() - self._began)))
            text = Text(self._words(is_plain=console.options.ascii_only))
            text.truncate(max(console.width - len(clock) - 2, 0))
            return text.append(f" {clock}")

        with self._lock:
            if self.tasks:
                # What is printed meanwhile stands above the line; files and pipes get it as it is.
                self._live = Live(
                    get_renderable=row,
                    console=console,
                    refresh_per_second=10,
                    transient=True,
                    redirect_stdout=_is_terminal(sys.stdout),
                )
                self._live.start()

    def _words(self, *, is_plain: bool) -> str:
        if not self.tasks:
            return ""
        task = self.tasks[-1]
        parts = [task.title]
        if task.total is not None:
            share = min(max(task.completed / task.total, 0.0), 1.0) if task.total > 0 else 1.0
            done = max(round(share * _WIDTH), 1)
            full, empty = ("=", "-") if is_plain else ("━", "─")
            parts += [full * done + empty * (_WIDTH - done)]
            parts += [f"{task.completed:.0f}/{task.total:.0f}"]
        text = " ".join([*parts, task.text])
        return "".join(c if c.isprintable() else "?" for c in text).rstrip()


class _Careful:
    """A terminal that shows question marks for what it has no letters for, and whose end is no
    reason to stop the work.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text.encode(self.encoding, "replace").decode(self.encoding))

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


_LINE = _Line()


def _is_terminal(stream: TextIO) -> bool:
    """Whether it is a terminal on which a line can be drawn over."""
    with suppress(AttributeError, ValueError):
        return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return False
