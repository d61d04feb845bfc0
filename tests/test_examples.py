"""The examples run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


SLOW = {"meanings", "pictures"}


def examples() -> list[object]:
    slow = pytest.mark.slow
    return [
        pytest.param(path, id=path.stem, marks=[slow] if path.stem in SLOW else [])
        for path in EXAMPLES
    ]


@pytest.mark.slow
@pytest.mark.parametrize("example", examples())
def test_it_runs(example, tmp_path):
    result = subprocess.run(
        [sys.executable, example], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
