"""Progress on a terminal: one line on stderr that moves as long as there is work."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, RLock, Thread
from typing import TextIO
from unicodedata import east_asian_width

Update = Callable[[float, str], None]
# Work that is over within this many seconds shows nothing.
_DELAY = 0.5
_EVERY = 0.1  # seconds between two drawings
_WIDTH = 30  # of a bar, in characters
_ERASE = "\r\x1b[2K"
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
    if not show or not _can_draw(sys.stderr):
        yield lambda completed, text: None
        return
    task = _Task(title, total)
    _LINE.begin(task)
    try:
        yield task.update
    finally:
        _LINE.end(task)


def count_from_start() -> None:
    """Let clocks show the time since this process was started: how long the user of the command has
    waited.
    """
    global _clock_from
    _clock_from = _process_start()


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
        self.lock = RLock()
        self.drawn = False  # whether the line is on the terminal now
        self.at_start = True  # whether what others wrote ended with a line break
        self._ended = Event()
        self._thread: Thread | None = None
        self._began = 0.0
        self._stream: TextIO = sys.stderr
        self._others: list[tuple[str, TextIO, _Above]] = []

    def begin(self, task: _Task) -> None:
        with self.lock:
            self.tasks.append(task)
            if self._thread is not None:
                return
            self._ended, self._stream = Event(), sys.stderr
            self._began = time.monotonic() if _clock_from is None else _clock_from
            self._thread = Thread(target=self._run, args=(self._ended,), daemon=True)
            self._thread.start()

    def end(self, task: _Task) -> None:
        with self.lock:
            self.tasks.remove(task)
            if self.tasks or self._thread is None:
                return
            thread, self._thread = self._thread, None
            self._ended.set()
        thread.join()
        with self.lock:
            self.erase()
            for name, stream, above in self._others:
                if getattr(sys, name) is above:
                    setattr(sys, name, stream)
            self._others, self.at_start = [], True

    def erase(self) -> None:
        with self.lock:
            if self.drawn:
                self.drawn = False
                self._write(_ERASE)

    def _run(self, ended: Event) -> None:
        if ended.wait(max(0.0, _DELAY - (time.monotonic() - self._began))):
            return
        with self.lock:
            for name in ("stdout", "stderr"):
                stream: TextIO = getattr(sys, name)
                if stream is self._stream or _can_draw(stream):
                    above = _Above(stream, self)
                    self._others.append((name, stream, above))
                    setattr(sys, name, above)
        frame = 0
        while True:
            with self.lock:
                if ended.is_set():
                    return
                if self.tasks and self.at_start:
                    self.drawn = True
                    self._write(f"{_ERASE}{self._text(frame)}")
            frame += 1
            if ended.wait(_EVERY):
                return

    def _text(self, frame: int) -> str:
        task, plain = self.tasks[-1], self._shown("⠋━─") != "⠋━─"
        spinner, full, empty = ("|/-\\", "=", "-") if plain else ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "━", "─")
        parts = [spinner[frame % len(spinner)], task.title]
        if task.total is not None:
            share = min(max(task.completed / task.total, 0.0), 1.0) if task.total > 0 else 1.0
            done = max(round(share * _WIDTH), 1)
            parts += [
                full * done + empty * (_WIDTH - done),
                f"{task.completed:.0f}/{task.total:.0f}",
            ]
        clock = str(timedelta(seconds=int(time.monotonic() - self._began)))
        text = " ".join([*parts, task.text])
        return _cut("".join(c if c.isprintable() else "?" for c in text), clock, self._columns())

    def _columns(self) -> int:
        if not os.environ.get("COLUMNS", "").isdecimal():
            with suppress(OSError, ValueError):
                return os.get_terminal_size(self._stream.fileno()).columns
        return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        with suppress(
            OSError, ValueError
        ):  # a terminal that has gone is no reason to stop the work
            self._stream.write(self._shown(text))
            self._stream.flush()

    def _shown(self, text: str) -> str:
        """The text with question marks for what the terminal cannot show."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)


class _Above:
    """A stream whose text stands above the line: the line makes way before anything is written."""

    def __init__(self, stream: TextIO, line: _Line) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        with self._line.lock:
            self._line.erase()
            if text:
                self._line.at_start = text.endswith("\n")
            return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


_LINE = _Line()


def _can_draw(stream: TextIO) -> bool:
    """Whether it is a terminal on which a line can be drawn over."""
    with suppress(AttributeError, ValueError):
        return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return False


def _cut(text: str, end: str, width: int) -> str:
    """Text and what must be seen behind it, within the width of a terminal."""
    room, kept = width - len(end) - 2, ""
    for character in text:
        room -= 2 if east_asian_width(character) in "FW" else 1
        if room < 0:
            break
        kept += character
    return f"{kept.rstrip()} {end}"


def _process_start() -> float:
    """When this process was started, by the clock of ``time.monotonic``; when this file was
    imported if unknown.
    """
    with suppress(OSError, ValueError, AttributeError, IndexError):
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        if 0 <= age < 1e6:
            return time.monotonic() - age
    return _IMPORTED
