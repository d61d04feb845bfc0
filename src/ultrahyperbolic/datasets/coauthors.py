"""The co-authors of NIPS 1988 to 2003, which the paper's Tables 2 and 3 are about."""

import hashlib
import os
import urllib.request
import warnings
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import numpy as np

from ..files import replace_file
from ..graph import Graph, GraphError
from ..graph.errors import MATRIX_ROWS

DATA_FOLDER = "ULTRAHYPERBOLIC_DATA"

_FILE = "nips_edges.txt"
_URL = (
    "https://raw.githubusercontent.com/MarcTLaw/UltrahyperbolicRepresentation/"
    "fbcf7446fe4975635f7ce4d8047ff6c727ced47f/nips_dataset_experiments/nips_edges.txt"
)
_SHA256 = "e7e5a46e80692034904656ff57a714702a05fe88b62b64c3210e7cb8cf14bbed"
_SIZE = 53_005


def nips(path: str | os.PathLike[str] | None = None, *, weighted: bool = True) -> Graph:
    """The co-authors of NIPS 1988 to 2003: 2,715 authors "1" to "2715", 4,733 ties, the weight
    being joint papers.

    The file is not part of the package. It is read from ``path``; else from the folder that the
    environment variable ``ULTRAHYPERBOLIC_DATA`` names; else from the user's cache, into which it
    is downloaded once from the repository of the paper's authors. Where no path is given, its
    sha256 is checked.
    """
    file = os.fspath(_find() if path is None else path)
    try:
        with warnings.catch_warnings(
            category=UserWarning, action="ignore"
        ):  # of an empty file, which is refused below
            table = np.loadtxt(file, dtype=np.int64, ndmin=2)
    except FileNotFoundError:
        raise GraphError(f"{file}: no such file") from None
    except (OSError, ValueError) as error:
        raise GraphError(f"{file}: not a list of 'author author papers': {error}") from None
    if table.shape[1:] != (3,) or table.size == 0 or table.min() < 1:
        raise GraphError(f"{file}: not a list of 'author author papers', whole numbers from 1")
    (first, second, papers), last = table.T, int(table[:, :2].max())
    if last > MATRIX_ROWS:
        raise GraphError(f"{file}: author {last} is beyond {MATRIX_ROWS}: number them from 1")
    ids = [str(author) for author in range(1, last + 1)]
    graph = Graph.from_arrays(first - 1, second - 1, papers, ids=ids, name="nips")
    return graph if weighted else graph.unweighted()


def _find() -> Path:
    """The file, from the data folder or the cache, downloaded where it is in neither."""
    for cached in places():
        if cached.exists():
            return _verified(cached, cached.read_bytes())
    try:
        with urllib.request.urlopen(_URL, timeout=30.0) as response:
            content = response.read(_SIZE + 1)
    except (OSError, HTTPException) as error:
        raise GraphError(
            f"nips: cannot download {_URL} ({error}): fetch it elsewhere, and put {_FILE} into "
            "the folder that the "
            f"environment variable {DATA_FOLDER} names or into {cached.parent}, or give its path"
        ) from None
    _verified(Path(_URL), content)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        replace_file(cached, content)
    except OSError as error:
        raise GraphError(
            f"nips: cannot write {cached}: {error}; set {DATA_FOLDER} or give a path"
        ) from None
    return cached


def places() -> Iterator[Path]:
    """Where the file may be: in the data folder, and at last in the cache."""
    if folder := os.environ.get(DATA_FOLDER):
        yield Path(folder, _FILE)
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ultrahyperbolic", _FILE)


def _verified(path: Path, content: bytes) -> Path:
    if len(content) != _SIZE or hashlib.sha256(content).hexdigest() != _SHA256:
        raise GraphError(
            f"{path}: not the file of the paper: its size or sha256 differs (sha256 should be "
            f"{_SHA256})"
        )
    return path
