"""Where the command finds graphs and embeddings: files, data sets and folders; ``datasets``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from ..checks import suggestion
from ..progress import bar
from . import options as opt
from .errors import Refused, reason, refusing
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
    """What `find_again` finds a graph again by, from any folder, beside what the graph says of
    itself.
    """
    file = str(Path(name).resolve()) if Path(name).is_file() else None
    reading = as_given(options)
    if "nodes" in options:
        reading["nodes"] = str(Path(options["nodes"]).resolve())
    return replace(about, file=file, data_set=None if file else name, reading=reading)


def as_given(options: Reading) -> dict[str, Json]:
    """The options of reading as plain data."""
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in options.items()
    }


def find_again(
    record: RunRecord, folder: Path, *, quiet: bool, download: bool = False
) -> tuple[Graph | None, str]:
    """The graph that was embedded, read as it was then; else what is in its place now, and why it
    is not that graph.

    A file is looked for by its path from the working directory, where it was then, and from the
    folder and those above it; the first with the right fingerprint is taken. A data set is only
    downloaded if ``download`` says so.
    """
    from ..datasets import available, names

    about = record.graph
    if about is None or about.source is None:
        return None, "run.json does not say where it came from"
    source, file, given = about.source, about.file, record.reading or {}
    recorded = {**given, **(about.reading or {})}
    if "nodes" in recorded:
        nodes = str(recorded["nodes"])
        recorded["nodes"] = str(
            next(iter(_files(str(given.get("nodes", nodes)), nodes, folder)), nodes)
        )
    options = cast("Reading", recorded)
    readers: list[Callable[[], Graph]] = [
        partial(find_graph, str(path), options, quiet=quiet)
        for path in _files(source, file, folder)
    ]
    if source in names() and (download or available(source)):
        readers.append(partial(_load, source, options))
    first: tuple[Graph | None, str] | None = None
    for read in readers:
        try:
            graph = replace(read(), source=source)
        except (typer.TyperException, TypeError, ValueError) as error:
            first = first or (None, reason(error))
        else:
            if graph.fingerprint == about.fingerprint:
                return graph, ""
            first = first or (graph, f"{source} has changed since")
    return first or (None, f"{source} is not here")


def _files(given: str, then: object, folder: Path) -> list[Path]:
    """The files that a path which was given may mean now, each once; ``then`` is where it was."""
    places = [Path(given), *([Path(then)] if isinstance(then, str) else [])]
    if not places[0].is_absolute():
        home = folder.resolve()
        places += [above / given for above in (home, *home.parents)]
    found: dict[Path, Path] = {}
    for path in places:
        if os.path.isfile(path):  # which no name is too long or too strange for
            found.setdefault(path.resolve(), path)
    return list(found.values())


def graph_of(
    embedding: Embedding, folder: Path, name: str | None, options: Reading, *, quiet: bool
) -> tuple[Graph | None, str]:
    """The graph of ``--graph``, else the one that was embedded, with the embedding's nodes; or why
    there is none.
    """
    if name is not None:
        return aligned(find_graph(name, options, quiet=quiet), embedding, folder), ""
    check_unread(options)
    found, why = find_again(embedding.record, folder, quiet=True)
    return None if found is None or why else aligned(found, embedding, folder), why


def newer_file(record: RunRecord, folder: Path) -> Path | None:
    """A file that the graph may have come from and that was written after the embedding."""
    from ..embedding.store import TABLE

    files = (
        _files(record.graph.source, record.graph.file, folder)
        if record.graph and record.graph.source
        else []
    )
    written = (folder / TABLE).stat().st_mtime
    return next((path for path in files if path.stat().st_mtime > written), None)


def check_unread(options: Reading) -> None:
    """Refuse options of reading where ``--graph`` names nothing to read."""
    if options:
        option, value = next(iter(options.items()))
        text = "unweighted" if option == "weight" and value is False else option.replace("_", "-")
        raise Refused(f"--{text} says how a graph is read: name it with --graph")


def aligned(graph: Graph, embedding: Embedding, folder: Path) -> Graph:
    """The graph with the nodes of the embedding, in their order."""
    if strangers := [node for node in graph.ids if not embedding.rows.has_id(node)]:
        count = f"{len(strangers)} of its {graph.n_nodes} nodes"
        raise Refused(f"{graph.source}: {count} are not in {folder}, such as {strangers[0]!r}")
    return graph.with_nodes(embedding.ids)


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


def open_embedding(folder: Path) -> Embedding:
    """The embedding of a folder, or one line that says what is wrong with it; what is doubtful is
    said in notes.
    """
    from ..embedding.store import RECORD, TABLE

    check_folder(folder)
    if not (folder / TABLE).exists() and (folder / RECORD).exists():
        raise Refused(
            f"{folder} holds no embedding yet (no {TABLE}): its training is running, or did not "
            "finish; "
            f"embed --resume {folder} goes on with it"
        )
    with (
        refusing(OSError, ValueError),
        warnings.catch_warnings(record=True) as said,
        bar(f"opening {folder}"),
    ):
        warnings.simplefilter("always")
        from ..embedding import Embedding

        embedding = Embedding.load(folder)
    for warning in said:
        note(str(warning.message))
    return embedding


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

    found = {name: (line, available(name)) for name, line in names().items()}
    if as_json:
        rows = [
            {"name": name, "description": line, "available": here}
            for name, (line, here) in found.items()
        ]
        print_json({"datasets": rows})
        return
    lines = [(name, "yes" if here else "no", line) for name, (line, here) in found.items()]
    print_table(("name", "here", "what it is"), lines)
