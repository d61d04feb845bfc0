"""Files of whole networks, which networkx reads: GraphML, GEXF, GML and JSON node-link."""

from __future__ import annotations

import inspect
import io
import json
import re
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NoReturn
from xml.parsers import expat

from .errors import DEPTH, OBJECTS, GraphError, naming_damage, need
from .ids import check_lengths
from .streams import not_decoded, open_bytes

if TYPE_CHECKING:
    import networkx

Format = Literal["GraphML", "GML", "GEXF", "JSON"]

# "graph [", perhaps after comments and other keys with their values.
_GML = re.compile(
    rb'(\xef\xbb\xbf)?\s*+(#[^\n]*+\n\s*+|\w++\s++("[^"]*+"|[^\s"\[\]#]++)\s++)*+graph\s*+\['
)
_JSON = re.compile(
    rb'(\xef\xbb\xbf)?\s*+\{\s*+"(directed|multigraph|graph|nodes|links|edges)"\s*+:'
)
_JSON_SUFFIX = re.compile(r"\.json(\.gz|\.zst|\.zstd)?$", re.IGNORECASE)
_JSON_BEGIN = re.compile(rb"(\xef\xbb\xbf)?\s*+[\[{]")
_GEXF = re.compile(
    rb"(\xef\xbb\xbf)?\s*+((<!--.*?-->|<[?!][^>]*+>)\s*+)*+<([\w.-]+:)?gexf[\s/>]", re.DOTALL
)
# How an XML file can begin; in a file of no such name, an id that begins with "<" is no sign of
# one.
_XML_SUFFIX = re.compile(r"\.(graphml|gexf|xml)(\.gz)?$", re.IGNORECASE)
_XML = re.compile(
    rb"(\xef\xbb\xbf)?\s*<(\?xml\s|!--|!DOCTYPE\s|([\w.-]+:)?graphml[\s/>])", re.IGNORECASE
)
_LABELS = ("name", "label")  # the later the better


def format_of(path: str, start: bytes) -> Format | None:
    """Which of these formats a file has that begins with these bytes, if any; other XML is taken
    for GraphML.

    >>> format_of("g", b'Creator "me" graph [ node [')
    'GML'
    >>> format_of("g", b"<gexf/>"), format_of("g", b"a,b,1")
    ('GEXF', None)
    """
    if _GML.match(start):
        return "GML"
    if _JSON.match(start) or (_JSON_SUFFIX.search(path) and _JSON_BEGIN.match(start)):
        return "JSON"
    if _GEXF.match(start):
        return "GEXF"
    is_xml = _XML.match(start) or (_XML_SUFFIX.search(path) and start.lstrip().startswith(b"<"))
    return "GraphML" if is_xml else None


def read_networkx_file(path: str, format: Format, encoding: str | None = None) -> networkx.Graph:
    """The graph of a file, directed where the file says so, with an edge for each of its edges."""
    nx = need("networkx", f"{path}: reading {format}")
    with open_bytes(path, encoding, part=OBJECTS) as stream:
        data: bytes = stream.read()
    with naming_damage(f"{path}: the {format} file", (OSError, MemoryError)):
        if format == "GML":
            graph = _read_gml(nx, path, data)
        elif format == "JSON":
            graph = _read_node_link(nx, path, data)
        else:
            check_xml(path, format, data)
            graph = _read_graphml(nx, data) if format == "GraphML" else _read_gexf(nx, data)
    check_lengths(graph, path)
    return graph


def label_attribute(graph: networkx.Graph) -> str | None:
    """The attribute that labels nodes."""
    found = {
        name
        for _, attributes in graph.nodes(data=True)
        for name in _LABELS
        if attributes.get(name) is not None
    }
    return max(found, key=_LABELS.index, default=None)


def _read_gml(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_decoded(path, line, "UTF-8") from None
    # By id: a label need not be there, nor be of one node alone.
    return nx.parse_gml((line.removesuffix("\r") for line in text.split("\n")), label="id")


def _read_graphml(nx: ModuleType, data: bytes) -> networkx.Graph:
    with warnings.catch_warnings(action="ignore"):  # of ports, and of attributes without a type
        graph = nx.read_graphml(io.BytesIO(data), force_multigraph=True)
    for *_, attributes in graph.edges(data=True):
        for name, value in graph.graph["edge_default"].items():
            attributes.setdefault(name, value)
    return graph


def _read_gexf(nx: ModuleType, data: bytes) -> networkx.Graph:
    return nx.read_gexf(io.BytesIO(data))


def check_xml(path: str, format: str, data: bytes) -> None:
    """Refuse XML that is nested deeply, declares a document type, so that no entity is ever
    expanded, or has nodes without ids of their own or edges that do not end in nodes.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0
    nodes: set[str] = set()
    ends: dict[str, int] = {}  # each with the line on which it is first met

    def fail(reason: str, line: int | None = None) -> GraphError:
        return GraphError(f"{path}, line {line or parser.CurrentLineNumber}: {reason}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEPTH:
            raise fail(f"more than {DEPTH} elements stand within each other: no {format}")
        tag = tag.rpartition(" ")[2]  # without its namespace
        for name in {"node": ("id",), "edge": ("source", "target")}.get(tag, ()):
            if name not in attributes:
                raise fail(f"<{tag}> has no {name}")
            if tag == "edge":
                ends.setdefault(attributes[name], parser.CurrentLineNumber)
            elif attributes[name] in nodes:
                raise fail(f"node {attributes[name]!r} is declared twice: keep one of them")
            else:
                nodes.add(attributes[name])

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse_doctype(*_: object) -> None:
        raise fail(
            f"a document type is declared, which {format} does not need: remove the <!DOCTYPE ...>"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise fail(f"this is not well-formed XML: {reason}", error.lineno) from None
    except (LookupError, ValueError) as error:  # GraphError, or an encoding that is not known
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{path}: this is not well-formed XML: {error}") from None
    unknown = next((node for node in ends if node not in nodes), None)
    if unknown is not None:
        raise fail(f"the edge ends in {unknown!r}, which is not a node of the file", ends[unknown])


def _read_node_link(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    content = json.loads(data)
    known = content if isinstance(content, dict) else {}
    nodes, links = known.get("nodes"), known.get("links", known.get("edges"))
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise GraphError(
            f'{path}: no node-link graph: an object with lists "nodes" and "links" (or "edges") '
            "is needed"
        )
    for what, items, keys in (("node", nodes, ()), ("link", links, ("source", "target"))):
        for k, item in enumerate(items):
            if not isinstance(item, dict) or any(key not in item for key in keys):
                wanted = f"an object{' with source and target' if keys else ''}"
                raise GraphError(f"{path}: {what} {k} (from 0) must be {wanted}")
    # A graph of several edges a pair, so that a link that comes again is not lost; its key would
    # make it the same one.
    whole = {
        "directed": bool(known.get("directed")),
        "multigraph": True,
        "nodes": nodes,
        "edges": [],
    }
    name = "edges" if "edges" in inspect.signature(nx.node_link_graph).parameters else "link"
    declared = nx.node_link_graph(whole, **{name: "edges"}).number_of_nodes()
    if declared < len(nodes):
        raise GraphError(
            f"{path}: {len(nodes) - declared} nodes have the id of another: give each its own"
        )
    whole["edges"] = [{key: value for key, value in link.items() if key != "key"} for link in links]
    graph = nx.node_link_graph(whole, **{name: "edges"})
    if graph.number_of_nodes() > declared:
        _refuse_end(path, list(graph)[declared])
    return graph


def _refuse_end(path: str, node: object) -> NoReturn:
    raise GraphError(f"{path}: an edge ends in {node!r}, which is not a node of the file")
