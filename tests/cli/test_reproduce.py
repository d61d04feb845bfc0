from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import ultrahyperbolic.paper as paper
from ultrahyperbolic.graph import GraphError


@dataclass
class Recorded:
    """A target that says what it was asked for."""

    description: str = "Nothing of the paper"
    error: Exception | None = None
    options: frozenset[str] = frozenset({"loss", "iterations", "device", "threads"})
    seeded: bool = True
    told: dict[str, object] = field(default_factory=dict)

    def run(
        self, seeds: int | None, output: Path, quiet: bool, **options: object
    ) -> dict[str, float]:
        self.told = options
        if self.error is not None:
            raise self.error
        if not quiet:
            print(f"seeds {seeds}, into {output}")
        (output / "table.md").write_text("| |\n")
        return {"R4_first_leader_mean": 1.5, "seeds": float(seeds or 0)}


@pytest.fixture
def target(monkeypatch):
    recorded = Recorded()
    monkeypatch.setattr(paper, "TARGETS", {"table1": recorded})
    return recorded


def test_it_runs_the_target(call, target):
    result = call("reproduce table1 --seeds 3 -o results --json figures.json")
    assert (result.exit_code, result.stdout) == (0, "seeds 3, into results\n")
    assert json.loads(Path("figures.json").read_text()) == {
        "R4_first_leader_mean": 1.5,
        "seeds": 3.0,
    }
    assert Path("results/table.md").exists()


def test_its_defaults(call, target):
    assert call("reproduce table1").stdout == "seeds None, into out/table1\n"
    assert call("reproduce table1 --quiet").stdout == ""
    assert [str(file) for file in Path().rglob("*.*")] == ["out/table1/table.md"]


def test_json_on_stdout_is_all_there_is(call, target):
    assert json.loads(call("reproduce table1 --json -").stdout) == {
        "R4_first_leader_mean": 1.5,
        "seeds": 0.0,
    }


def test_without_a_target_all_are_named(call):
    result = call("reproduce")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["target", *paper.TARGETS]
    assert {"table1", "table2", "table3", "figure1", "figure2", "figure3", "timing"} <= set(
        paper.TARGETS
    )
    assert all(found.description in result.stdout for found in paper.TARGETS.values())


def test_what_it_refuses(refuse, target):
    Path("file").write_text("")
    assert refuse("reproduce table") == "no target 'table'; did you mean table1?"
    assert refuse("reproduce nothing") == "no target 'nothing'; there are table1"
    assert "'--seeds'" in refuse("reproduce table1 --seeds 0")
    assert "Not a directory" in refuse("reproduce table1 -o file/deeper")
    assert "File exists" in refuse("reproduce table1 -o file")
    assert "this is a folder" in refuse("reproduce table1 --json .")
    assert "is not there" in refuse("reproduce table1 --json nowhere/figures.json")
    assert not Path("file/deeper").exists()


def test_options_of_the_training(call, refuse, target):
    call("reproduce table1")
    assert target.told == {}
    call("reproduce table1 --loss sampled --iterations 3 --device cpu --threads 2")
    assert target.told == {"loss": "sampled", "iterations": 3, "device": "cpu", "threads": 2}
    assert "'--loss'" in refuse("reproduce table1 --loss other")
    assert "--device elsewhere: " in refuse("reproduce table1 --device elsewhere")


def test_options_a_target_does_not_know(refuse):
    assert (
        refuse("reproduce figure1 --seeds 3")
        == "--seeds does not apply to figure1, which trains nothing: leave it out"
    )
    assert (
        refuse("reproduce table1 --loss sampled")
        == "--loss applies to table2 and table3 only: leave it out"
    )
    assert (
        refuse("reproduce timing --iterations 3")
        == "--iterations applies to table2 and table3 only: leave it out"
    )


@pytest.mark.parametrize(
    "error", [GraphError("nips: cannot download"), ImportError("drawing needs matplotlib")]
)
def test_what_a_target_lacks_is_told(refuse, target, error):
    target.error = error
    assert refuse("reproduce table1") == str(error)


def test_a_single_seed_may_be_refused_but_bugs_show(call, refuse, target):
    target.error = ValueError("a spread needs at least 2 seeds")
    assert refuse("reproduce table1 --seeds 1") == "a spread needs at least 2 seeds"
    with pytest.raises(ValueError, match="at least 2"):
        call("reproduce table1 --seeds 2")


@pytest.mark.usefixtures("listening")
def test_ctrl_c_ends_it_without_figures(call, target, monkeypatch):
    def interrupted(
        seeds: int | None, output: Path, quiet: bool, **options: object
    ) -> dict[str, float]:
        with contextlib.suppress(
            KeyboardInterrupt
        ):  # as a training does, which returns its best so far
            os.kill(os.getpid(), signal.SIGINT)
        return {"R4_first_leader_mean": 99.0}

    monkeypatch.setattr(target, "run", interrupted)
    result = call("reproduce table1 --json figures.json")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: the results in out/table1 are not complete\n"
    assert not Path("figures.json").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
