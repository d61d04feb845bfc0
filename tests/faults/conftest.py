"""What the tests of faults share: the command, called in an empty folder."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from ultrahyperbolic.cli import app


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(words):
        return CliRunner().invoke(
            app, shlex.split(words), prog_name="ultrahyperbolic", catch_exceptions=False
        )

    return invoke


@pytest.fixture
def refuse(call):
    """The line that the command says, perhaps after notes, of what it must refuse."""

    def invoke(words):
        result = call(words)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        *notes, line = result.stderr.splitlines()
        assert all(said.startswith("note: ") for said in notes)
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return invoke


@pytest.fixture
def begun(call, monkeypatch):
    """Train into the folder ``club`` until some iteration, and stop there as a process that is
    killed does.
    """
    from ultrahyperbolic.training import checkpoint

    class Killed(BaseException):
        pass

    def train(words="embed karate -o club --iterations 400", until=150):
        write = checkpoint.write_checkpoint

        def write_and_die(folder, so_far, record):
            write(folder, so_far, record)
            if so_far.state.iteration >= until:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(checkpoint, "write_checkpoint", write_and_die)
            with pytest.raises(Killed):
                call(f"{words} --quiet --checkpoint-every 0")

    return train


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}
