"""The benchmark of the report runs from end to end and writes the figures it promises; how fast is
not judged here.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "report.py"


@pytest.mark.slow
def test_the_figures_are_printed_and_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("ULTRAHYPERBOLIC_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(
        "PATH", str(Path(sys.executable).parent)
    )  # no browser, whose tests are elsewhere
    path = tmp_path / "out" / "report.json"
    sizes = ["--nodes", "6000", "--repeats", "1", "--keep", str(tmp_path / "pages")]
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *sizes, "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    figures: dict[str, float] = json.loads(path.read_text())
    assert figures["karate_nodes"] == 34
    assert figures["generated_nodes"] == 6000
    for name in ("karate", "generated"):
        assert figures[f"{name}_megabytes"] < 8
        size = (tmp_path / "pages" / f"{name}.html").stat().st_size
        assert size / 1e6 == figures[f"{name}_megabytes"]
        assert f"{name}_write_seconds" in run.stdout
    assert "no Chromium here" in run.stdout
