"""``python -m ultrahyperbolic.paper``: the tables where little is installed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ultrahyperbolic.paper import __main__ as command

BARE = """
import importlib.util, sys
MISSING = {"scipy", "networkx", "sklearn", "numba", "llvmlite", "pandas", "pyarrow", "rich", "typer", "click",
           "matplotlib", "threadpoolctl", "safetensors"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"no {name}", name=name)
import torch, numpy
for name in [name for name in sys.modules if name.partition(".")[0] in MISSING]:
    del sys.modules[name]
sys.meta_path.insert(0, Refuse())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in MISSING else found(name, package)
from ultrahyperbolic import Graph, datasets
edges = [(int(i), int(i + j), int(1 + i * j % 9)) for i in range(20) for j in (1, 3, 7)]
datasets.nips = lambda: Graph.from_edges(edges)
from ultrahyperbolic.paper.__main__ import main
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_torch_and_numpy_are_enough_for_the_tables(tmp_path):
    words = "table2 --seeds 2 --iterations 2 --device cpu -o t --json figures.json"
    result = subprocess.run(
        [sys.executable, "-c", BARE, *words.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "2 seeds: mean ± standard deviation (n - 1)" in result.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {"Q2_2_rho_all_mean", "Q2_2_rho_all_std", "R4_step"} <= set(figures)
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == [
        "table2.csv",
        "table2.json",
        "table2.md",
    ]
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib, which is not installed")
    command.main(["table2", "--draw", str(tmp_path / "figures.json"), "-o", str(tmp_path)])
    assert (tmp_path / "table2.png").stat().st_size > 10_000


def test_what_it_refuses(tmp_path, capsys):
    for arguments, why in (
        (["figure1", "--loss", "exact"], "--loss is not of figure1"),
        (["table1", "--draw", "table1.json"], "--draw is of table2 and table3"),
        (["table9"], "invalid choice"),
    ):
        with pytest.raises(SystemExit) as refused:
            command.main([*arguments, "-o", str(tmp_path)])
        assert refused.value.code == 2
        assert why in capsys.readouterr().err
