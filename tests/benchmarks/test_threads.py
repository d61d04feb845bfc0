"""What is compared in a benchmark computes on as many threads; how fast is not judged here."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = [path for path in sorted(FOLDER.glob("*.py")) if "__main__" in path.read_text()]


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """Run a benchmark, and read the figures it writes."""
    before = torch.get_num_threads()

    def run(script, *words):
        path = tmp_path / "out" / "figures.json"
        monkeypatch.setattr(sys, "argv", [script, *words, "--json", str(path)])
        runpy.run_path(str(FOLDER / script), run_name="__main__")
        return json.loads(path.read_text())

    yield run
    torch.set_num_threads(before)


@pytest.mark.parametrize("words", [(), ("--threads", "2")], ids=["default", "two"])
def test_both_forms_of_the_co_authors_loss(figures, words, capsys):
    found = figures("nips.py", "--graph", "karate", "--samples", "20", *words)
    assert found["threads"] == found["sampled_threads"] == (2 if words else 1)
    printed = capsys.readouterr().out
    assert all(key in printed for key in found)


def test_both_forms_of_the_karate_club_s_loss(figures):
    found = figures("karate.py", "--iterations", "20", "--plain-iterations", "2", "--rounds", "1")
    assert found["threads"] == found["plain_threads"] == 1


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_writes_its_figures(script):
    text = script.read_text()
    assert "parser(__doc__)" in text
    assert re.search(r"(save|finish)\(.*(options|asked)\.json", text, re.DOTALL)
