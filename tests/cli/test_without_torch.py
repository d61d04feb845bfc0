"""Where torch cannot be imported: the quick start, the ten tasks, the report and the rest of what
needs none run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ultrahyperbolic as uh

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "docs/start.md")
# No torch, as in an environment that does not have it; and every command of the lines of standard
# input.
SCRIPT = """
import json, shlex, sys


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
from ultrahyperbolic.cli import main

for line in sys.stdin.read().splitlines():
    sys.argv = shlex.split(line)
    try:
        main()
    except SystemExit as ended:
        print(json.dumps([line, ended.code or 0]), file=sys.stderr)
"""
EXAMPLE = re.compile(r"^\$ (ultrahyperbolic .*)$", re.M)
FILE = re.compile(r"`([\w.-]+)`:\n\n```text\n(.*?)```", re.S)
OTHERS = """
embed karate -o club --iterations 60 --quiet
embed karate -o few --time-limit 5 --quiet
embed karate -o chosen --dim 2 --by links --iterations 30 --quiet
embed karate -o scripts --preset paper --iterations 30 --quiet
select karate --dim 2 -o compared --iterations 30 --quiet
embed flows.tsv -o flows --directed --iterations 60 --quiet
embed --resume flows --quiet
embed flows.tsv -o again --continue-from flows --iterations 30 --quiet
place club new.tsv -o placed
place flows flow.tsv -o placed_flow
rank flows
suggest flows
evaluate flows
plot club -o club.png
report club
"""
REFUSED = """
embed karate -o a --device cuda
embed karate -o b --backend reference
reproduce table1
"""


def run(lines, folder):
    """The exit codes of commands, and all that was said on stderr."""
    pytest.importorskip("numba")
    command = [sys.executable, "-c", SCRIPT]
    found = subprocess.run(
        command, input="\n".join(lines), cwd=folder, capture_output=True, text=True
    )
    codes = {}
    for line in found.stderr.splitlines():
        if line.startswith('["'):
            words, codes[words] = json.loads(line)
    assert list(codes) == lines, found.stderr
    return codes, found.stderr


@pytest.mark.parametrize("page", PAGES)
def test_what_pages_show_runs(tmp_path, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content, encoding="utf-8")
    codes, said = run(EXAMPLE.findall(text), tmp_path)
    assert set(codes.values()) == {0}, said
    assert (tmp_path / "lesmis" / "report.html").exists()


def test_everything_else_that_needs_no_torch_runs_with_the_same_bits(tmp_path):
    (tmp_path / "flows.tsv").write_text("a\tb\t3\nb\tc\t2\na\tc\t1\nc\td\t1\nd\te\t2\ne\ta\t1\n")
    (tmp_path / "flow.tsv").write_text("f\ta\t1\nc\tf\t2\n")
    (tmp_path / "new.tsv").write_text("stranger\t34\t1\nstranger\t33\t2\n")
    codes, said = run([f"ultrahyperbolic {line}" for line in OTHERS.split("\n") if line], tmp_path)
    assert set(codes.values()) == {0}, said
    here = uh.embed(uh.datasets.karate(), iterations=60, quiet=True)
    np.testing.assert_array_equal(uh.load(tmp_path / "club").points, here.points)
    scripts = uh.embed(uh.datasets.karate(), preset="paper", iterations=30, quiet=True)
    np.testing.assert_array_equal(uh.load(tmp_path / "scripts").points, scripts.points)


def test_what_needs_torch_says_what_to_install(tmp_path):
    lines = [f"ultrahyperbolic {line}" for line in REFUSED.split("\n") if line]
    codes, said = run(lines, tmp_path)
    assert set(codes.values()) == {2}, said
    assert said.count(
        "needs torch, which is not installed: pip install 'ultrahyperbolic[torch]'"
    ) == len(lines)


PYTHON = """
import contextlib

import ultrahyperbolic as uh

assert set(uh.__all__) <= set(dir(uh))
embedding = uh.embed("karate", iterations=30, quiet=True)
embedding.features(), embedding.distances(), embedding.hierarchy(), uh.evaluation.evaluate(
    uh.datasets.karate(), embedding.points, embedding.geometry, dissimilarity="smoothed"
)
with contextlib.suppress(ModuleNotFoundError):
    import sklearn

    assert uh.UltrahyperbolicEmbedding(iterations=30).fit_transform(embedding.graph).shape[0] == 34
for ask in (lambda: uh.PseudoHyperboloid, lambda: uh.nn, lambda: uh.minimize, lambda: embedding.manifold):
    try:
        ask()
    except ImportError as error:
        assert str(error).endswith("needs torch, which is not installed: pip install 'ultrahyperbolic[torch]'"), error
    else:
        raise AssertionError("nothing was said")
"""


def test_python_says_it_too(tmp_path):
    pytest.importorskip("numba")
    script = SCRIPT.partition("from ultrahyperbolic.cli")[0] + PYTHON
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


LOADED = """
import sys
import ultrahyperbolic as uh

embedding = uh.embed("karate", iterations=30, quiet=True, device="cpu")
assert "torch" not in sys.modules, "torch was imported"
assert embedding.manifold.ambient_dim == 7
assert "torch" in sys.modules
"""


def test_torch_is_not_loaded_before_it_is_needed(tmp_path):
    pytest.importorskip("numba")
    found = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
