"""The notebooks run from top to bottom, and are kept without output."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["coauthors", "connectome", "lesmis", "minimize"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_valid_and_without_output(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path):
    pytest.importorskip("ipykernel")
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # of the client's sockets and loops, which are not ours
        NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)
