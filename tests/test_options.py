"""An option is declared once: the calls, the command and scikit-learn follow."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.options import OPTIONS, complete
from ultrahyperbolic.spaces import Geometry
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.plan import Plan

SOURCE = Path(uh.__file__).parent
# What somebody adds to the source: file, line, what goes before it.
ADDED = [
    (
        "options.py",
        "    step: Annotated[",
        '    patience: Annotated[int | None, Option("Training", "A made-up option of this test.", '
        "least=1)]\n",
    ),
    ("training/config.py", "    step: float = 0.1\n", "    patience: int = 7\n"),
]
CHECK = """
import inspect, typer, warnings
warnings.simplefilter("ignore")
import ultrahyperbolic as uh
from ultrahyperbolic.cli import app
club = uh.datasets.karate()
few = {"p": 2, "q": 1, "iterations": 2, "backend": "reference", "quiet": True}
found = uh.embed(club, patience=3, **few)
assert found.run["config"]["patience"] == 3
assert "patience=3" in found.run["call"]
assert uh.embed(club, **few).run["config"]["patience"] == 7
assert "A made-up option" in uh.embed.__doc__ and "patience" in inspect.signature(uh.embed).parameters
assert uh.UltrahyperbolicEmbedding(patience=3).get_params()["patience"] == 3
command = typer.main.get_command(app).commands["embed"]
(option,) = [each for each in command.params if each.name == "patience"]
assert option.opts == ["--patience"] and option.help == "A made-up option of this test."
app(["embed", "karate", "--patience", "0"], standalone_mode=True)
"""


def test_an_option_is_added_in_two_files(tmp_path):
    copy = tmp_path / "ultrahyperbolic"
    shutil.copytree(SOURCE, copy)  # with what is compiled
    for name, line, more in ADDED:
        text = (copy / name).read_text(encoding="utf-8")
        assert text.count(line) == 1
        (copy / name).write_text(text.replace(line, more + line), encoding="utf-8")
    assert len({name for name, *_ in ADDED}) <= 3
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    found = subprocess.run(
        [sys.executable, "-c", CHECK],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert found.returncode == 2, found.stderr
    assert "--patience" in found.stderr
    assert "1" in found.stderr


def test_settings_of_a_training_have_the_names_of_options():
    """An option that no code reads by its name is a field of the configuration."""
    fields = set(TrainingConfig.__dataclass_fields__)
    read = {"p", "q", "dim", "flat", "signature", "beta", "by", "seeds", "time_limit"}
    computing = {name for name, declared in OPTIONS.items() if declared.option.panel == "Computing"}
    assert set(OPTIONS) <= fields | read | computing


def test_options_that_are_given_win():
    plan = Plan.of(temperature=0.5, max_step=0.1, iterations=9)
    assert plan.settings == {
        "temperature": (0.5, 0.5),
        "max_step": (0.1, 0.1),
        "moves": "absolute",
        "iterations": 9,
        "seed": 0,
    }


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match=r"there is no option 'colour'; the options are"):
        uh.embed("karate", colour=3)


SHORT = {"iterations": 12, "quiet": True}


@pytest.mark.parametrize(
    "trained",
    [
        lambda **goal: uh.embed("karate", dim=2, **SHORT, **goal).points,
        lambda **goal: [row.scores for row in uh.select("karate", dim=1, **SHORT, **goal).rows],
        lambda **goal: uh.UltrahyperbolicEmbedding(
            p=1, q=1, iterations=3, seed=0, **goal
        ).fit_transform("karate"),
        lambda **goal: repr(TrainingConfig(iterations=3, **goal)),
    ],
    ids=["embed", "select", "scikit-learn", "configuration"],
)
def test_the_goal_of_earlier_versions_is_taken_and_changes_nothing(trained):
    with pytest.warns(
        FutureWarning, match="^goal no longer changes anything: .* so leave it out$"
    ) as said:
        found = trained(goal="hierarchy")
    assert [warning.filename for warning in said] == [__file__]
    assert np.array_equal(found, trained())


@pytest.mark.parametrize("name", ["flat", "popularity"])
@pytest.mark.parametrize("value", [2, 1, 0, 1.0, "yes", np.ones(2, dtype=bool)])
def test_what_is_yes_or_no_is_nothing_else(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be True or False, got") as refused:
        Plan.of(**{name: value})
    assert ("dim gives the dimension" in str(refused.value)) == (name == "flat")
    if name == "popularity":
        with pytest.raises(TypeError, match=r"^popularity must be True or False"):
            uh.select("karate", popularity=value)


def test_yes_and_no_of_numpy_are_those_of_python():
    plan = Plan.of(flat=np.True_, popularity=np.False_, dim=2)
    assert plan.where == Geometry(flat=2)
    assert plan.settings["popularity"] is False


def test_every_option_says_what_it_is():
    parameters = inspect.signature(uh.embed).parameters
    for name, declared in OPTIONS.items():
        assert parameters[name].default == complete({})[name]
        assert declared.option.help.endswith(".")
        assert f"    {name} : " in uh.embed.__doc__
