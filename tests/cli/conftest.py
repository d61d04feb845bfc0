"""What the tests of the command share: a way to call it, and an embedding to ask."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from typer import testing
from typer.testing import CliRunner, Result

from ultrahyperbolic.cli import app

# A runner makes the whole command anew for every call: once is enough.
testing._get_command = cache(testing._get_command)

FEW = ("--iterations", "60")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call the command in an empty folder: ``call("embed karate -o club")``, or argument by
    argument.
    """
    monkeypatch.chdir(tmp_path)

    def invoke(*words: object) -> Result:
        arguments = shlex.split(str(words[0])) if len(words) == 1 else [str(word) for word in words]
        return CliRunner().invoke(
            app, arguments, prog_name="ultrahyperbolic", catch_exceptions=False
        )

    return invoke


@pytest.fixture
def refuse(call: Callable[..., Result]) -> Callable[..., str]:
    """Call the command with what it must refuse: the line it ends with, after notes, exit code 2,
    nothing on stdout.
    """

    def invoke(*words: object) -> str:
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        *notes, line = result.stderr.splitlines()
        assert all(said.startswith("note: ") for said in notes)
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return invoke


@pytest.fixture(scope="session")
def club(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The karate club, embedded by the command; not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "club"
    result = CliRunner().invoke(
        app, ["embed", "karate", "-o", str(folder), *FEW], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return folder
