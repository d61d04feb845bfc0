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


def test_a_terminal_that_cannot_draw_over_shows_nothing(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stderr = terminal()
    with progress.bar("reading", 7) as update:
        update(3, "")
    assert stderr.getvalue() == ""


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
