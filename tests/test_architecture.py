"""The rooms: what may import what, and how large things may grow."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "ultrahyperbolic"
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_ANY = 125


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def lint_imports(folder):
    """What ``make lint`` runs, on the package below a folder."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as run; run()",
        "--no-cache",
    ]
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}
    command += ["--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(
        PACKAGE, tmp_path / "ultrahyperbolic", ignore=shutil.ignore_patterns("__pycache__", "*.nb?")
    )
    return tmp_path


def test_the_contract_is_kept(copied):
    found = lint_imports(copied)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "2 kept, 0 broken" in found.stdout


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (
            "geometry/flat.py",
            "from ..training import config",
            "not allowed to import ultrahyperbolic.training",
        ),
        (
            "pairs/reference.py",
            "def f():\n    from ..cli import embed",
            "not allowed to import ultrahyperbolic.cli",
        ),
        ("graph/ids.py", "from . import graph", "No cycles are allowed in ultrahyperbolic.graph"),
        (
            "checks.py",
            "from .loop import Stopped",
            "checks is not allowed to import ultrahyperbolic.loop",
        ),
    ],
    ids=["upward", "upward, when it is called", "a circle of files", "at the bottom"],
)
def test_a_planted_import_is_found(copied, file, line, said):
    path = copied / "ultrahyperbolic" / file
    path.write_text(path.read_text(encoding="utf-8") + f"\n\n{line}\n", encoding="utf-8")
    found = lint_imports(copied)
    assert found.returncode != 0
    assert said in " ".join(found.stdout.split())


def test_lint_checks_the_imports():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "lint-imports" in makefile.partition("\nLINT :=")[2].split("\n\n")[0]
    assert makefile.count("$(LINT)") == 2, "by itself, and beside the tests"
    rooms = {
        path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()
    }
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"][0]
    assert rooms <= {room.strip() for layer in contract["layers"] for room in layer.split(":")}


def test_few_lines_say_any():
    lines = [
        f"{name_of(path)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r"\bAny\b", line)
    ]
    assert len(lines) <= MOST_ANY, lines


# Rooms and files that are for those who have installed torch, and that import it by name or not
# before they need it.
OF_TORCH = ("geometry/", "optim/", "nn/", "contrib/", "objective/", "paper/", "engines/triton/")
OF_TORCH += ("engines/reference.py", "pairs/reference.py", "testing.py", "lazy.py")
ONLY_WHEN_NEEDED = {"engines/communicator.py"}


def test_nothing_else_imports_torch():
    importing = set()
    for path in FILES:
        if name_of(path).startswith(OF_TORCH):
            continue
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^if TYPE_CHECKING:\n((    .*)?\n)+", "", text, flags=re.M)
        if re.search(r"^\s*(import|from) torch\b", text, re.M):
            importing.add(name_of(path))
    assert importing == ONLY_WHEN_NEEDED
