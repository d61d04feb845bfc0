"""Where graphs and embeddings come from: files, data sets and folders."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..progress import bar
from .errors import Refused, refusing, suggestion
from .output import note

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph


def find_graph(name: str, options: Mapping[str, Any], *, quiet: bool) -> Graph:
    """The graph of a file, else the data set of that name; ``options`` are those of ``read_graph``."""
    from ..datasets import names
    from ..graph import GraphError, read_graph

    if not name:
        raise Refused("GRAPH is empty: give a file, or the name of a data set")
    path = Path(name)
    if path.exists() and not path.is_dir():
        if not path.is_file():
            raise Refused(f"{name} is no plain file: a graph is read more than once, so write it to a file first")
        if name in names() and not quiet:
            note(f"{name} is a file here: it is taken, not the data set of that name")
        with refusing(GraphError, ImportError), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            graph = read_graph(name, **options, progress=not quiet)
        if not quiet:
            for text in (graph.columns, *(warning.message for warning in said)):
                if text is not None:
                    note(str(text))
        return graph
    if name in names():
        return _load(name, options)
    if path.is_dir():
        raise Refused(f"{name} is a folder; give a file, or a data set: {', '.join(names())}")
    near = suggestion(name, names())
    raise Refused(f"{name}: no such file, and no data set of that name{near or '; there are ' + ', '.join(names())}")


def where_from(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`find_again` needs to find a graph again from any folder, as plain data."""
    file = str(Path(name).resolve()) if Path(name).is_file() else None
    nodes = {"nodes": str(Path(options["nodes"]).resolve())} if "nodes" in options else {}
    return {"file": file, "data_set": None if file else name, "reading": {**options, **nodes}}


def find_again(graph: Mapping[str, Any], *, quiet: bool) -> Graph:
    """The graph of a record that :func:`where_from` has added to."""
    if graph["file"] is None:
        return _load(graph["data_set"], graph["reading"])
    if not Path(graph["file"]).is_file():
        raise Refused(f"{graph['file']}: the graph of this training is no longer there: put it back")
    return find_graph(graph["file"], graph["reading"], quiet=quiet)


def _load(name: str, options: Mapping[str, Any]) -> Graph:
    from ..datasets import load
    from ..graph import GraphError

    unweighted = options.get("weight") is False
    others = [option for option in options if not (option == "weight" and unweighted)]
    if others:
        option = others[0].replace("_", "-")
        raise Refused(f"--{option} is for reading files, and {name} is a data set: leave it out")
    with refusing(GraphError, ImportError):
        graph = load(name)
    return graph.unweighted() if unweighted else graph


def graph_name(name: str) -> str:
    """What a graph is called, for the folder of its embedding.

    >>> graph_name("data/ties.tsv.gz"), graph_name("karate"), graph_name("...gz")
    ('ties', 'karate', 'graph')
    """
    path = Path(name)
    while path.suffix.lower() in (".gz", ".zst", ".zstd"):
        path = path.with_suffix("")
    return path.stem.strip(".") or "graph"


def open_embedding(folder: Path) -> Embedding:
    """The embedding of a folder, or one line that says what is wrong with it."""
    from ..embedding import Embedding
    from ..embedding.embedding import RECORD, TABLE

    if not folder.is_dir():
        raise Refused(f"{folder}: {'this is a file' if folder.exists() else 'no such folder'}; give one embed wrote")
    if not (folder / TABLE).exists() and (folder / RECORD).exists():
        raise Refused(f"{folder} holds no embedding yet: there is no {TABLE}; its training runs, or did not finish")
    with refusing(OSError, ValueError), warnings.catch_warnings(record=True) as said, bar(f"opening {folder}"):
        warnings.simplefilter("always")
        embedding = Embedding.load(folder)
    for warning in said:
        note(str(warning.message))
    return embedding
