"""A setting has one name: in the command, in Python and in scikit-learn."""

from __future__ import annotations

import inspect

import pytest
import typer

import ultrahyperbolic as uh
from ultrahyperbolic.cli import app
from ultrahyperbolic.options import Compared

# What only one of them can have.
COMMAND_ALONE = {
    "deterministic",
    "output",
    "overwrite",
    "resume",
    "checkpoint_every",
    "with_report",
    "title",
    "as_json",
    "help_all",  # of a process
    "unweighted",  # weight=False
    "delimiter",
    "header",
    "source",
    "target",
    "comments",
    "encoding",
    "nodes",
    "repeated",
    "asymmetric",
    "weights_are_distances",
    "skip_bad_rows",
    "goal",
}
READ = {"weight", "directed"}  # of reading, and in Python too
PYTHON_ALONE = {"callback"}
SKLEARN_HAS_NOT = {"callback", "quiet"}


def parameters(call) -> set[str]:
    return set(inspect.signature(call).parameters) - {"self", "graph", "kwargs", "options"}


def options(command: str) -> set[str]:
    found = typer.main.get_command(app).commands[command].params
    return {parameter.name for parameter in found} - {"graph", "help", "continue_from"}


def test_the_command_and_python():
    python = parameters(uh.embed) - {"continue_from"}
    assert options("embed") - COMMAND_ALONE == python - PYTHON_ALONE
    assert options("embed") >= COMMAND_ALONE


def test_scikit_learn_and_python():
    pytest.importorskip("sklearn")
    learn = parameters(uh.UltrahyperbolicEmbedding)
    assert (
        learn - {"random_state", "n_features"}
        == parameters(uh.embed) - {"continue_from"} - SKLEARN_HAS_NOT
    )
    assert "random_state" in learn


def test_the_reading_of_files():
    reading = COMMAND_ALONE & (parameters(uh.read_graph) | {"unweighted"})
    assert reading | READ == parameters(uh.read_graph) - {"path", "progress"} | {"unweighted"}


def test_the_comparison_of_geometries():
    python = parameters(uh.select) | set(Compared.__annotations__)
    assert options("select") - COMMAND_ALONE == python


def test_options_are_spelt_as_in_python():
    for name in ("embed", "select"):
        for parameter in typer.main.get_command(app).commands[name].params:
            long = [option for option in parameter.opts if option.startswith("--")]
            if long and parameter.name not in ("as_json", "with_report"):
                assert f"--{parameter.name.replace('_', '-')}" in long
