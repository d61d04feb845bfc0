"""The usual training on the CPU, its report and the questions that a folder answers do not load torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import ultrahyperbolic as uh
from ultrahyperbolic.cli import app

app(["embed", "karate", "-o", "club", "--iterations", "30", "--quiet"], standalone_mode=False)
app(["rank", "club"], standalone_mode=False)
embedding = uh.embed("karate", iterations=30, quiet=True, device="cpu")
assert embedding.geometry.name == "Q^{3,3}"
assert "torch" not in sys.modules, "torch was imported"
assert embedding.manifold.ambient_dim == 7
assert "torch" in sys.modules
"""


def test_embed_and_rank_do_not_load_torch(tmp_path):
    pytest.importorskip("numba")
    found = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "club" / "report.html").exists()
