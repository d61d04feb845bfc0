"""Where the command finds graphs and embeddings: files, data sets and folders; ``datasets``."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..checks import suggestion
from ..progress import bar
from . import options as opt
from .errors import Refused, refusing
from .options import Reading
from .output import note, print_json, print_table

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..embedding.record import GraphRecord, Json, RunRecord
    from ..graph import Graph


def find_graph(name: str, options: Reading, *, quiet: bool) -> Graph:
    """The graph of a file, else the data set of that name; ``options`` are those of
    ``read_graph``.
    """
    from ..datasets import names
    from ..graph import GraphError, read_graph
    from ..graph.columns import WeightGuess

    if not name:
        raise Refused("GRAPH is empty: give a file, or the name of a data set")
    path = Path(name)
    if path.exists() and not path.is_dir():
        if name in names() and not quiet:
            note(f"{name} is a file here: reading the file, not the data set of that name")
        with refusing(GraphError, ImportError), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            graph = read_graph(name, **options, progress=not quiet)
        if graph.columns is not None and not quiet:
            note(str(graph.columns))
        for warning in said:  # a wrong guess spoils all that follows: it is said to the quiet, too
            if graph.columns is None or quiet or warning.category is not WeightGuess:
                note(str(warning.message))
        return graph
    if name in names():
        return _load(name, options)
    if path.is_dir():
        raise Refused(f"{name} is a folder; give a file, or a data set: {', '.join(names())}")
    near = suggestion(name, names())
    raise Refused(
        f"{name}: no such file, and no data set of that "
        f"name{near or '; there are ' + ', '.join(names())}"
    )


def where_from(about: GraphRecord, name: str, options: Reading) -> GraphRecord:
    """What `read_again` reads a graph by, from any folder, beside what the graph says of itself."""
    file = str(Path(name).resolve()) if Path(name).is_file() else None
    reading = as_given(options)
    if "nodes" in options:
        reading["nodes"] = str(Path(options["nodes"]).resolve())
    return replace(about, file=file, reading=reading)


def as_given(options: Reading) -> dict[str, Json]:
    """The options of reading as plain data."""
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in options.items()
    }


def read_again(record: RunRecord, folder: Path, *, quiet: bool) -> Graph:
    """The graph of a training that continues: that of the folder's embedding, or read as it was
    then.
    """
    from ..datasets import names
    from ..embedding.store import TABLE

    about = record.graph
    if about is None or about.source is None:
        raise Refused(f"{folder} cannot be resumed, as run.json does not say of which graph it is")
    if (folder / TABLE).exists():
        graph = open_embedding(folder).graph
        if graph is not None and graph.fingerprint == about.fingerprint:
            return graph
    source, options = about.source, cast("Reading", dict(about.reading or record.reading or {}))
    for path in (about.file, source):
        if path is not None and os.path.isfile(path):  # which no name is too long for
            return replace(find_graph(path, options, quiet=quiet), source=source)
    if source in names():
        return _load(source, options)
    raise Refused(f"{folder} cannot be resumed, as {source} is not here: put it back")


def graph_of(embedding: Embedding, folder: Path) -> Graph:
    """The graph that was embedded, as the folder holds it."""
    if embedding.graph is None:
        raise Refused(f"{folder} holds no ties, as version 0.2 kept none: embed the graph again")
    return embedding.graph


def _load(name: str, options: Reading) -> Graph:
    from ..datasets import load
    from ..graph import GraphError

    unweighted = options.get("weight") is False
    if others := [option for option in options if not (option == "weight" and unweighted)]:
        raise Refused(
            f"--{others[0].replace('_', '-')} is for reading files, and {name} is a data set: "
            "leave it out"
        )
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


def check_folder(folder: Path) -> None:
    """Refuse what is no folder."""
    if not folder.is_dir():
        what = "this is a file" if folder.exists() else "no such folder"
        default = Path("out", graph_name(str(folder)))
        wanted = (
            f"did you mean {default}?" if default.is_dir() else "give a folder that embed wrote"
        )
        raise Refused(f"{folder}: {what}; {wanted}")


def check_table(folder: Path, record: RunRecord) -> None:
    """Refuse a record that has lost its embedding, and of which no training can go on."""
    from ..embedding.store import RECORD, TABLE

    goes_on = record.training is not None and (record.stopped is None or record.unfinished)
    if not goes_on and not (folder / TABLE).exists():
        raise Refused(
            f"{folder} holds a {RECORD} without its {TABLE}: embed the graph again (--overwrite)"
        )


def open_embedding(folder: Path) -> Embedding:
    """The embedding of a folder, or one line that says what is wrong with it."""
    from ..embedding.store import RECORD, TABLE, read_record

    check_folder(folder)
    if not (folder / TABLE).exists() and (folder / RECORD).exists():
        with refusing(OSError, ValueError):
            check_table(folder, read_record(folder))
        raise Refused(
            f"{folder} holds no embedding yet (no {TABLE}): its training is running, or did not "
            f"finish; embed --resume {folder} goes on with it"
        )
    with refusing(OSError, ValueError), bar(f"opening {folder}"):
        from ..embedding import Embedding

        return Embedding.load(folder)


def datasets(as_json: opt.Json = False) -> None:
    """List the data sets that you can name in place of a file.

    Their weights, if they have any, are tie strengths, as everywhere
    (docs/graphs.md). One that is not here says what it needs when you use it.

    Examples:
      ultrahyperbolic datasets
      ultrahyperbolic datasets --json
      ultrahyperbolic embed lesmis
    """
    from ..datasets import available, names

    rows = [
        {"name": name, "description": line, "available": available(name)}
        for name, line in names().items()
    ]
    if as_json:
        print_json({"datasets": rows})
        return
    lines = [
        (str(row["name"]), "yes" if row["available"] else "no", str(row["description"]))
        for row in rows
    ]
    print_table(("name", "here", "what it is"), lines)
