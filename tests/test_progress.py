from __future__ import annotations

import io
import sys
import time

import pytest

from ultrahyperbolic import progress


def wait_for(stream, text):
    for _ in range(1000):
        if text in stream.getvalue():
            return True
        time.sleep(0.01)
    return False


def test_a_terminal_sees_it(terminal, capsys):
    stderr = terminal()
    with progress.bar("reading [bold]x[/bold]", 7) as update:
        update(3, "half [way]")
        assert wait_for(stderr, "reading [bold]x[/bold]")
        assert wait_for(stderr, "3/7")
        assert wait_for(stderr, "half [way]")
    assert capsys.readouterr().out == ""


def test_work_of_unknown_length(terminal):
    stderr = terminal()
    with progress.bar("opening") as update:
        update(0, "it")
        assert wait_for(stderr, "opening")
        assert "/" not in stderr.getvalue()


def test_short_work_shows_nothing(terminal, monkeypatch):
    stderr = terminal()
    monkeypatch.setattr(progress, "_DELAY", 3600.0)
    with progress.bar("reading", 7) as update:
        update(7, "")
    assert stderr.getvalue() == ""


def test_quiet_and_no_terminal_show_nothing(terminal, monkeypatch):
    stderr = terminal()
    with progress.bar("reading", 7, show=False) as update:
        update(7, "")
    assert stderr.getvalue() == ""
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with progress.bar("reading", 7) as update:
        update(7, "")
    assert plain.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")  # cannot draw over
    stderr = terminal()
    with progress.bar("reading", 7) as update:
        update(3, "")
    assert stderr.getvalue() == ""


def test_the_end_of_the_terminal_is_no_reason_to_stop(terminal, monkeypatch):
    stderr = terminal()

    def gone(text):
        raise OSError("gone")

    monkeypatch.setattr(stderr, "write", gone)
    with progress.bar("reading", 7) as update:
        time.sleep(0.3)
        update(3, "")


def test_errors_pass_through_and_leave_no_bar(terminal):
    stderr = terminal()

    def fail():
        with progress.bar("reading", 7):
            assert wait_for(stderr, "reading")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    after = stderr.getvalue()
    time.sleep(0.3)
    assert stderr.getvalue() == after


def test_an_outer_bar_covers_the_time_between_others(terminal):
    stderr = terminal()
    with progress.bar("outer"):
        assert wait_for(stderr, "outer")
        with progress.bar("inner", 4) as update:
            update(2, "half")
            assert wait_for(stderr, "2/4 half")
            assert "outer" not in stderr.getvalue().rpartition("\x1b[2K")[2]
        before = stderr.getvalue().count("outer")
        for _ in range(1000):
            if stderr.getvalue().count("outer") > before:
                break
            time.sleep(0.01)
        assert stderr.getvalue().count("outer") > before
    assert stderr.getvalue().endswith("\x1b[2K")  # nothing of it stays
    assert sys.stderr is stderr


def test_what_others_print_stands_above_the_line(terminal):
    stderr = terminal()
    with progress.bar("working"):
        assert wait_for(stderr, "working")
        print("a note", file=sys.stderr)
        print("no end", end="", file=sys.stderr)
        time.sleep(0.3)
    shown = stderr.getvalue()
    assert "\x1b[2Ka note\n" in shown
    assert "\x1b[2Kno end\n" in shown


def test_the_line_fits_the_terminal(terminal, monkeypatch):
    stderr = terminal()
    monkeypatch.setenv("COLUMNS", "40")
    with progress.bar("reading 東京" * 20, 7) as update:
        update(1, "x\n\x1b" * 30)
        assert wait_for(stderr, "0:00:00")
        shown = stderr.getvalue()
    lines = [line for line in shown.split("\r\x1b[2K") if line]
    width = max(sum(2 if character in "東京" else 1 for character in line) for line in lines)
    assert width <= 40
    assert not any("\n" in line or "\x1b" in line for line in lines)


def test_the_clock_of_the_command_starts_with_its_process(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_clock_from", None)
    assert progress.waited() is None
    progress.count_from_start()
    assert 0 < progress.waited() < 1e6
    monkeypatch.setattr(progress, "_clock_from", time.monotonic() - 3700)
    stderr = terminal()
    with progress.bar("working"):
        assert wait_for(stderr, "1:01:4")


def test_letters_that_the_terminal_has_not(terminal, monkeypatch):
    stderr = terminal()
    monkeypatch.setattr(type(stderr), "encoding", "ascii", raising=False)
    with progress.bar("größer", 3) as update:
        update(1, "")
        assert wait_for(stderr, "1/3")
    assert stderr.getvalue().isascii()
