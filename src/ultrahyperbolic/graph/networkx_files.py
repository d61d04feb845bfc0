"""GML, GEXF and JSON node-link files, which networkx reads once they have been looked at."""

from __future__ import annotations

import inspect
import io
import json
import re
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NoReturn
from xml.parsers import expat

from .columns import fold_name
from .errors import ID, OBJECTS, GraphError, naming_damage, need
from .graphml import SafeXml
from .streams import not_decoded, open_bytes

if TYPE_CHECKING:
    import networkx

Format = Literal["GML", "GEXF", "JSON"]

# "graph [", perhaps after comments and other keys with their values.
_GML = re.compile(rb'(\xef\xbb\xbf)?\s*+(#[^\n]*+\n\s*+|\w++\s++("[^"]*+"|[^\s"\[\]#]++)\s++)*+graph\s*+\[')
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*+\{\s*+"(directed|multigraph|graph|nodes|links|edges)"\s*+:')
_JSON_SUFFIX = re.compile(r"\.json(\.gz|\.zst|\.zstd)?$", re.IGNORECASE)
_JSON_BEGIN = re.compile(rb"(\xef\xbb\xbf)?\s*+[\[{]")
_LABELS = ("label", "name")  # the first that a node has


def format_of(path: str, start: bytes) -> Format | None:
    """Which of the three formats a file has that begins with these bytes, if any.

    >>> format_of("g", b'Creator "me" graph [ node ['), format_of("g", b"<gexf/>"), format_of("g", b"a,b,1")
    ('GML', 'GEXF', None)
    """
    if _GML.match(start):
        return "GML"
    if _JSON.match(start) or (_JSON_SUFFIX.search(path) and _JSON_BEGIN.match(start)):
        return "JSON"
    return "GEXF" if b"<gexf" in start and _root(start) == "gexf" else None


def read_networkx_file(path: str, format: Format, encoding: str | None = None) -> networkx.Graph:
    """The graph of a file, directed where the file says so, with an edge for each of its edges."""
    nx = need("networkx", f"{path}: reading {format}")
    with open_bytes(path, encoding, part=OBJECTS) as stream:
        data: bytes = stream.read()
    with naming_damage(f"{path}: the {format} file", (OSError, MemoryError)):
        graph = {"GML": _read_gml, "GEXF": _read_gexf, "JSON": _read_node_link}[format](nx, path, data)
    if any(isinstance(node, str) and len(node) > ID for node in graph):
        raise GraphError(f"{path}: an id is longer than {ID >> 10} KiB: shorten it")
    return graph


def weight_attribute(graph: networkx.Graph, path: str, wanted: str | None) -> str | Literal[False]:
    """The attribute of edges that is their weight: the one wanted, else that named weight; ``False`` for none."""
    names = list(dict.fromkeys(name for *_, attributes in graph.edges(data=True) for name in attributes))
    found = next((name for name in names if fold_name(name) == fold_name(wanted or "weight")), None)
    if found is None and wanted is not None:
        there = ", ".join(map(repr, names)) or "none"
        raise GraphError(f"{path}: edges have no attribute {wanted!r}; they have {there}")
    return False if found is None else str(found)


def label_attribute(graph: networkx.Graph) -> str | None:
    """The attribute that labels nodes."""
    found = {name for _, attributes in graph.nodes(data=True) for name in _LABELS if attributes.get(name) is not None}
    return next((name for name in _LABELS if name in found), None)


def _read_gml(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_decoded(path, line, "UTF-8") from None
    # By id: a label need not be there, nor be of one node alone.
    return nx.parse_gml((line.removesuffix("\r") for line in text.split("\n")), label="id")


def _read_gexf(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    SafeXml(path, "GEXF").parse([data])
    graph = nx.read_gexf(io.BytesIO(data))
    # Every node of the file has a label there, if only None; one that an edge brought has nothing.
    unknown = next((node for node, attributes in graph.nodes(data=True) if "label" not in attributes), None)
    if unknown is not None:
        _refuse_end(path, unknown)
    return graph


def _read_node_link(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    content = json.loads(data)
    nodes, links = None, None
    if isinstance(content, dict):
        nodes, links = content.get("nodes"), content.get("links", content.get("edges"))
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise GraphError(f'{path}: no node-link graph: an object with lists "nodes" and "links" (or "edges") is needed')
    for what, items, keys in (("node", nodes, ()), ("link", links, ("source", "target"))):
        for k, item in enumerate(items):
            if not isinstance(item, dict) or any(key not in item for key in keys):
                wanted = f"an object{' with source and target' if keys else ''}"
                raise GraphError(f"{path}: {what} {k} (from 0) must be {wanted}")
    # A graph of several edges a pair, so that a link that comes again is not lost; its key would make it the same one.
    whole = {"directed": bool(content.get("directed")), "multigraph": True, "nodes": nodes, "edges": []}
    name = "edges" if "edges" in inspect.signature(nx.node_link_graph).parameters else "link"
    declared = nx.node_link_graph(whole, **{name: "edges"}).number_of_nodes()
    if declared < len(nodes):
        raise GraphError(f"{path}: {len(nodes) - declared} nodes have the id of another: give each its own")
    whole["edges"] = [{key: value for key, value in link.items() if key != "key"} for link in links]
    graph = nx.node_link_graph(whole, **{name: "edges"})
    if graph.number_of_nodes() > declared:
        _refuse_end(path, list(graph)[declared])
    return graph


def _refuse_end(path: str, node: object) -> NoReturn:
    raise GraphError(f"{path}: an edge ends in {node!r}, which is not a node of the file")


def _root(start: bytes) -> str:
    """The name of the first element, where the first bytes of a file are XML."""
    found: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda tag, _: found.append(tag.rpartition(" ")[2])
    with suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(start, False)
    return found[0] if found else ""
