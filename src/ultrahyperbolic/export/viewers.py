"""Files that other viewers open: Embedding Atlas, TensorBoard's projector, VOSviewer, what reads
GraphML or GEXF.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..checks import check_choice, check_count
from ..embedding import Embedding
from ..embedding.answers import label_texts
from ..evaluation import communities
from ..files import Write, id_as_json, replace_file
from ..graph import Graph
from ..graph.ids import check_texts
from ..plot.pieces import plane
from ..progress import bar

if TYPE_CHECKING:
    import pyarrow

Format = Literal["atlas", "projector", "graphml", "gexf", "vosviewer"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PROJECTOR = ("vectors.tsv", "metadata.tsv", "projector_config.pbtxt")
# The longer side of a drawing, in the units that viewers of graphs expect.
_SPAN = 1000.0
# What XML 1.0 has no way to write, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RETURN = {"\r": "&#13;"}
# What ends a cell or a line of a TSV file, for some reader; and what no file in UTF-8 can hold.
_NOT_TSV = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Exported(NamedTuple):
    """What `export` wrote."""

    files: list[Path]
    notes: list[str]
    """What was changed on the way, where anything was."""


def export(
    embedding: Embedding,
    path: str | os.PathLike[str],
    format: Format,
    *,
    graph: Graph | None = None,
    neighbors: int = 15,
    overwrite: bool = False,
    progress: bool = False,
) -> Exported:
    """Write an embedding for another viewer; ``docs/exports.md`` says what each file holds.

    Formats are ``"atlas"``, a Parquet file for Embedding Atlas that lists so many nearest
    ``neighbors`` of each node; ``"projector"``, a folder of TSV files for TensorBoard's projector;
    ``"graphml"`` and ``"gexf"``, for Gephi and others; and ``"vosviewer"``, the JSON of VOSviewer.
    The last three need the ``graph`` that was embedded, in the order of the nodes of the embedding,
    by default the embedding's own; the others get its labels and strengths. ``overwrite`` replaces
    files that are there, and ``progress`` shows a bar on a terminal.
    """
    check_choice("format", format, FORMATS)
    neighbors = check_count("neighbors", neighbors, 1)
    graph = embedding.graph if graph is None else graph
    if graph is not None and list(graph.ids) != list(embedding.ids):
        raise ValueError(
            "graph must have the nodes of the embedding in their order: use graph.with_nodes(ids)"
        )
    target = Path(path)
    folder, names = (
        (target, _PROJECTOR) if format == "projector" else (target.parent, (target.name,))
    )
    notes: list[str] = []
    with bar(f"writing {target}", show=progress):
        _check_free(folder, names, overwrite)
        if format == "atlas":
            contents = [_atlas(embedding, graph, neighbors, target)]
        elif format == "projector":
            contents, notes = _projector(embedding, graph)
        elif graph is None:
            raise ValueError(f"{format} needs the graph: pass graph=, or --graph")
        elif format == "vosviewer":
            contents = [_writer([json.dumps(_vosviewer(embedding, graph), ensure_ascii=True)])]
        else:
            write = _graphml if format == "graphml" else _gexf
            contents = [_writer(write(embedding, graph, *_xml_names(embedding, graph)))]
        for name, content in zip(names, contents, strict=True):
            replace_file(folder / name, content)
    return Exported([folder / name for name in names], notes)


def id_texts(ids: Iterable[Hashable]) -> list[str]:
    """Ids as text: text as it is, others as JSON writes them, as in ``embedding.parquet``.

    >>> id_texts(["a", 1, ("b", 2), float("inf")])
    ['a', '1', '["b", 2]', 'Infinity']
    """
    return [node if isinstance(node, str) else json.dumps(id_as_json(node)) for node in ids]


def _check_free(folder: Path, names: Iterable[str], overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; name a folder")
    for path in (folder / name for name in names):
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file")
        if path.exists() and not overwrite:
            raise FileExistsError(
                f"{path} is there already: name another, or overwrite it (overwrite=True, "
                "--overwrite)"
            )
    folder.mkdir(parents=True, exist_ok=True)


def _writer(lines: Iterable[str]) -> Write:
    return lambda file: file.writelines(f"{line}\n".encode() for line in lines)


def _names(embedding: Embedding, graph: Graph | None) -> dict[str, list[str]]:
    """The ids of the nodes as text, and their labels, empty where a node has none, if any has
    one.
    """
    names = {"node": id_texts(embedding.ids)}
    return (
        names | {"label": label_texts(graph.ids, graph.labels)}
        if graph is not None and graph.labels
        else names
    )


def _known(embedding: Embedding, graph: Graph | None) -> dict[str, NDArray[Any]]:
    """The numbers [n] of the nodes by name: rank, delta, popularity and strength, as far as they
    are known.
    """
    found = {"rank": embedding.rank, "delta": embedding.delta, "popularity": embedding.popularity}
    found["strength"] = None if graph is None else graph.strength
    return {name: values for name, values in found.items() if values is not None}


def _scaled_plane(embedding: Embedding) -> Floats:
    """The plane, centred and as large as viewers of graphs expect."""
    places = plane(embedding)
    places = places - (places.max(0) + places.min(0)) / 2.0
    return np.asarray(places * (_SPAN / max(float(np.ptp(places, axis=0).max()), 1e-300)))


def _atlas(embedding: Embedding, graph: Graph | None, k: int, path: Path) -> Write:
    """One row per node; ``neighbors`` holds {ids: rows from 0, distances}, as Embedding Atlas
    documents it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = len(embedding)
    k = min(k, n - 1)
    indices, distances = (
        embedding.nearest(k) if k else (np.empty((n, 0), np.int64), np.empty((n, 0)))
    )
    offsets = np.arange(n + 1, dtype=np.int32) * k
    places = plane(embedding)
    columns: dict[str, pyarrow.Array | NDArray[np.generic]] = {}
    for name, texts in _names(embedding, graph).items():
        check_texts(texts, name, str(path))
        columns[name] = pa.array(texts, type=pa.string())
    columns |= {"x": places[:, 0], "y": places[:, 1]}
    lists = [
        pa.ListArray.from_arrays(offsets, pa.array(values.ravel()))
        for values in (indices, distances)
    ]
    columns["neighbors"] = pa.StructArray.from_arrays(lists, names=["ids", "distances"])
    table = pa.table(columns | {"delta": embedding.delta} | _known(embedding, graph))
    return lambda file: pq.write_table(table, file)


def _projector(embedding: Embedding, graph: Graph | None) -> tuple[list[Write], list[str]]:
    """Coordinates and what is known of the nodes, one line per node, and the configuration that
    names the two files.
    """
    columns = _names(embedding, graph)
    changed = sum(_NOT_TSV.search(text) is not None for texts in columns.values() for text in texts)
    columns = {name: [_NOT_TSV.sub(" ", text) for text in texts] for name, texts in columns.items()}
    columns |= {
        name: list(map(repr, values.tolist())) for name, values in _known(embedding, graph).items()
    }
    vectors, metadata, _ = _PROJECTOR
    shape = f"tensor_shape: {len(embedding)}\n  tensor_shape: {embedding.points.shape[1]}"
    about = [
        "embeddings {",
        '  tensor_name: "points"',
        f"  {shape}",
        f'  tensor_path: "{vectors}"',
        f'  metadata_path: "{metadata}"',
        "}",
    ]
    points = ("\t".join(map(repr, row)) for row in embedding.points.tolist())
    known = ("\t".join(row) for row in [tuple(columns), *zip(*columns.values(), strict=True)])
    note = (
        f"{changed} ids or labels hold tabs, line ends or other control characters, which became "
        "blanks"
    )
    return [_writer(lines) for lines in (points, known, about)], [note] if changed else []


def _xml_names(embedding: Embedding, graph: Graph) -> tuple[list[str], list[str]]:
    """Ids, all different, and labels, empty where there is none, as text that XML can hold."""
    names = _names(embedding, graph)
    for what, texts in names.items():
        for text in texts:
            if found := _NOT_XML.search(text):
                why = (
                    f"holds U+{ord(found[0]):04X}, which XML cannot write: rename it, or export "
                    "to projector"
                )
                raise ValueError(f"{what} {text!r} {why}")
    if len(set(names["node"])) < len(embedding):
        ((twice, _),) = Counter(names["node"]).most_common(1)
        raise ValueError(f"two nodes are {twice!r} when written as text: make the ids differ")
    return names["node"], names.get("label", [""] * len(embedding))


def _numbers(embedding: Embedding, graph: Graph) -> dict[str, tuple[str, list[float]]]:
    """The attributes of nodes: a type and a value for each."""
    known = _known(embedding, graph) | {"community": _communities(embedding, graph)}
    known |= {f"x{k}": column for k, column in enumerate(embedding.points.T)}
    return {
        name: ("long" if values.dtype.kind == "i" else "double", values.tolist())
        for name, values in known.items()
    }


def _communities(embedding: Embedding, graph: Graph) -> NDArray[np.int64]:
    """[n] those that ``cluster`` wrote, where it did; else they are found now."""
    kept = embedding.attributes.get("cluster")
    return communities(graph) if kept is None or kept.dtype.kind != "i" else kept.astype(np.int64)


def _vosviewer(embedding: Embedding, graph: Graph) -> dict[str, object]:
    """The network as VOSviewer documents it: ids and clusters are numbers from 1."""
    names = _names(embedding, graph)
    shown = [
        label or node
        for label, node in zip(names.get("label", names["node"]), names["node"], strict=True)
    ]
    places, groups = _scaled_plane(embedding) * (2.0 / _SPAN), _communities(embedding, graph)
    columns = shown, places, groups, graph.degree, graph.strength, embedding.rank
    items = [
        {
            "id": number,
            "label": label,
            "x": float(x),
            "y": float(y),
            "cluster": int(group) + 1,
            "weights": {"Links": int(degree), "Total link strength": float(strength)},
            "scores": {"Rank": int(rank)},
        }
        for number, (label, (x, y), group, degree, strength, rank) in enumerate(
            zip(*columns, strict=True), 1
        )
    ]
    ties = zip((graph.edges + 1).tolist(), graph.weights.tolist(), strict=True)
    links = [{"source_id": i, "target_id": j, "strength": weight} for (i, j), weight in ties]
    return {"network": {"items": items, "links": links}}


def _graphml(
    embedding: Embedding, graph: Graph, ids: list[str], labels: list[str]
) -> Iterator[str]:
    numbers = _numbers(embedding, graph)
    for axis, column in zip("xy", _scaled_plane(embedding).T, strict=True):
        numbers[axis] = ("double", column.tolist())
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    if any(labels):
        yield '  <key id="label" for="node" attr.name="label" attr.type="string"/>'
    for name, (kind, _) in numbers.items():
        yield f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>'
    yield '  <key id="weight" for="edge" attr.name="weight" attr.type="double"/>'
    yield '  <graph edgedefault="undirected">'
    for row, node in enumerate(ids):
        data = [f'<data key="label">{escape(labels[row], _RETURN)}</data>'] if labels[row] else []
        data += [
            f'<data key="{name}">{values[row]!r}</data>' for name, (_, values) in numbers.items()
        ]
        yield f"    <node id={quoteattr(node)}>{''.join(data)}</node>"
    for (i, j), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        ends = f"source={quoteattr(ids[i])} target={quoteattr(ids[j])}"
        yield f'    <edge {ends}><data key="weight">{weight!r}</data></edge>'
    yield "  </graph>"
    yield "</graphml>"


def _gexf(embedding: Embedding, graph: Graph, ids: list[str], labels: list[str]) -> Iterator[str]:
    numbers, places = _numbers(embedding, graph), _scaled_plane(embedding).tolist()
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        '<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" '
        'version="1.2">'
    )
    yield '  <graph defaultedgetype="undirected" mode="static">'
    yield '    <attributes class="node">'
    for name, (kind, _) in numbers.items():
        yield f'      <attribute id="{name}" title="{name}" type="{kind}"/>'
    yield "    </attributes>"
    yield "    <nodes>"
    for row, node in enumerate(ids):
        values = "".join(
            f'<attvalue for="{name}" value="{found[row]!r}"/>'
            for name, (_, found) in numbers.items()
        )
        x, y = places[row]
        yield (
            f"      <node id={quoteattr(node)} "
            f"label={quoteattr(labels[row] or node)}><attvalues>{values}</attvalues>"
            f'<viz:position x="{x!r}" y="{y!r}" z="0.0"/></node>'
        )
    yield "    </nodes>"
    yield "    <edges>"
    for number, ((i, j), weight) in enumerate(
        zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    ):
        ends = f"source={quoteattr(ids[i])} target={quoteattr(ids[j])}"
        yield f'      <edge id="{number}" {ends} weight="{weight!r}"/>'
    yield "    </edges>"
    yield "  </graph>"
    yield "</gexf>"
