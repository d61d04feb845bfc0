"""Files of whole networks: GraphML, read by expat, which streams; GML, GEXF and JSON node-link,
read by networkx.
"""

from __future__ import annotations

import inspect
import io
import json
import re
from collections.abc import Hashable, Iterable
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NoReturn
from xml.parsers import expat

from .columns import WEIGHTS, check_guess, fold_name, may_weigh, no_attribute
from .errors import DEPTH, ID, OBJECTS, GraphError, naming_damage, need
from .ids import check_lengths
from .rows import EdgeRows, Kind, rows_of_network
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
# How an XML file can begin; in a file of no such name, an id that begins with "<" is no sign of
# one.
_XML_SUFFIX = re.compile(r"\.(graphml|gexf|xml)(\.gz)?$", re.IGNORECASE)
_XML = re.compile(
    rb"(\xef\xbb\xbf)?\s*<(\?xml\s|!--|!DOCTYPE\s|([\w.-]+:)?graphml[\s/>])", re.IGNORECASE
)
_NUMBERS = ("int", "long", "float", "double")
_LABELS = ("name", "label")  # the later the better


class SafeXml:
    """A reader that refuses great depth and document types, so that no entity is ever declared,
    expanded or fetched.
    """

    def __init__(self, where: str, format: str) -> None:
        self.where, self._format, self._depth = where, format, 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def parse(self, blocks: Iterable[bytes]) -> None:
        """Read a document, whose blocks come one after the other."""
        try:
            for block in blocks:
                self.parser.Parse(bytes(block), False)
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise GraphError(
                f"{self.where}, line {error.lineno}: this is not well-formed XML: {reason}"
            ) from None
        except GraphError:
            raise
        except (LookupError, ValueError) as error:  # an encoding that is declared and not known
            raise GraphError(f"{self.where}: this is not well-formed XML: {error}") from None

    def fail(self, reason: str) -> GraphError:
        """An error that names the line."""
        return GraphError(f"{self.where}, line {self.parser.CurrentLineNumber}: {reason}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise self.fail(
                f"more than {DEPTH} elements stand within each other: no {self._format}"
            )

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _refuse_doctype(self, *_: object) -> None:
        raise self.fail(
            f"a document type is declared, which {self._format} does not need: remove the "
            "<!DOCTYPE ...>"
        )


def read_graphml(
    path: str, weight: str | Literal[False] | None
) -> tuple[EdgeRows, Kind, dict[Hashable, str] | None]:
    """The rows, what their direction means, and the labels of the nodes."""
    handler = _Handler(path, weight)
    with open_bytes(path) as stream:
        handler.parse(iter(lambda: stream.read(1 << 20), b""))
    return handler.rows(), handler.kind, handler.labels or None


class _Handler(SafeXml):
    """Gathers nodes, edges and the attributes that are weights or labels, as expat calls."""

    def __init__(self, where: str, weight: str | Literal[False] | None) -> None:
        super().__init__(where, "GraphML")
        self.kind: Kind = "undirected"
        self.labels: dict[Hashable, str] = {}
        self._wanted = weight
        self._edge_attributes: dict[str, str] = {}  # from the key's id to the attribute's name
        self._numbers: list[str] = []  # the keys of those that are numbers
        self._weight_key: str | None = None
        self._guesses: list[
            str
        ] = []  # the names of those that may be the weight, where no name tells
        self._defaults: dict[str, str] = {}
        self._default: float | None = None
        self._has_graph = False
        self._label_keys: dict[str, int] = {}
        self._label_rank: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._ends: list[str] = []
        self._weights: list[float | None] = []
        self._lines: list[int] = []
        self._inside: list[tuple[str, str]] = []  # the open elements, each with its id or key
        self._text: list[str] = []
        self.parser.buffer_text = True
        self.parser.CharacterDataHandler = self._text.append

    def rows(self) -> EdgeRows:
        """What was gathered."""
        if not self._ends:
            self._choose_weight()
        if isinstance(self._wanted, str) and self._weight_key is None:
            raise no_attribute(self.where, self._wanted, self._edge_attributes.values())
        check_guess(self._guesses, self.where)
        unknown = next((k for k, end in enumerate(self._ends) if end not in self._nodes), None)
        if unknown is not None:
            line, node = self._lines[unknown // 2], self._ends[unknown]
            raise GraphError(
                f"{self.where}, line {line}: the edge ends in {node!r}, which is not a node of "
                "the file"
            )
        codes = [self._nodes[end] for end in self._ends]
        ends = list(zip(codes[::2], codes[1::2], strict=True))
        weights, lines = None if self._weight_key is None else self._weights, self._lines
        return rows_of_network(
            tuple(self._nodes),
            ends,
            weights,
            self.where,
            lambda row: f"{self.where}, line {lines[row]}",
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        super()._start(tag, attributes)
        tag = tag.rpartition(" ")[2]  # without its namespace
        if not self._inside and tag != "graphml":
            raise self.fail(f"the document is <{tag}>, not <graphml>")
        own = ""
        if tag == "key":
            own = self._attribute(tag, attributes, "id")
            self._declare(own, attributes)
        elif tag == "graph":
            if (
                not self._has_graph
            ):  # another that follows, or lies in a node, says nothing of this one
                self.kind = (
                    "matrix" if attributes.get("edgedefault") == "directed" else "undirected"
                )
            self._has_graph = True
        elif tag == "node":
            own = self._attribute(tag, attributes, "id")
            if own in self._nodes:
                raise self.fail(f"node {own!r} is declared twice: keep one of them")
            self._nodes[own] = len(self._nodes)
        elif tag == "edge":
            if attributes.get("directed") == "true":  # though others need not be
                self.kind = "matrix"
            if not self._ends:
                self._choose_weight()
            self._ends += [
                self._attribute(tag, attributes, "source"),
                self._attribute(tag, attributes, "target"),
            ]
            self._weights.append(self._default)
            self._lines.append(self.parser.CurrentLineNumber)
        elif tag == "hyperedge":
            raise self.fail(
                "a hyperedge; only edges with two ends can be read: replace it by edges"
            )
        elif tag == "data":
            own = self._attribute(tag, attributes, "key")
        self._inside.append((tag, own))
        self._text.clear()

    def _end(self, tag: str) -> None:
        super()._end(tag)
        tag, own = self._inside.pop()
        if tag == "default" and self._inside[-1][0] == "key":
            self._defaults[self._inside[-1][1]] = "".join(self._text)
        elif tag == "data":
            owner, node = self._inside[-1]
            if owner == "edge" and own == self._weight_key:
                self._weights[-1] = self._number("".join(self._text))
            elif owner == "node" and self._label_keys.get(own, -1) > self._label_rank.get(node, -1):
                self._label_rank[node] = self._label_keys[own]
                self.labels[node] = "".join(self._text)
        self._text.clear()

    def _declare(self, key: str, attributes: dict[str, str]) -> None:
        domain, name = attributes.get("for", "all"), attributes.get("attr.name", key)
        if domain in ("edge", "all"):
            self._edge_attributes[key] = name
            if domain == "edge" and attributes.get("attr.type") in _NUMBERS:
                self._numbers.append(key)
        if domain in ("node", "all") and fold_name(name) in _LABELS:
            self._label_keys[key] = _LABELS.index(fold_name(name))

    def _choose_weight(self) -> None:
        """Find the attribute of edges that is their weight, once all are declared."""
        if self._wanted is False:
            return
        words = WEIGHTS if self._wanted is None else (self._wanted,)
        names = self._edge_attributes.items()
        named = [key for word in words for key, name in names if fold_name(name) == fold_name(word)]
        if not named and self._wanted is None:
            named = [key for key in self._numbers if may_weigh(self._edge_attributes[key])]
            self._guesses = [self._edge_attributes[key] for key in named]
        if named:
            self._weight_key = named[0]
            self._default = (
                self._number(self._defaults[named[0]]) if named[0] in self._defaults else None
            )

    def _attribute(self, tag: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self.fail(f"<{tag}> has no {name}")
        if len(attributes[name]) > ID:
            raise self.fail(f"the {name} of a <{tag}> is longer than {ID >> 10} KiB: shorten it")
        return attributes[name]

    def _number(self, text: str) -> float:
        text = text.strip()
        try:
            return float(text)
        except ValueError:
            raise self.fail(f"the weight {text!r} is not a number") from None


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
    if b"<gexf" in start and _root(start) == "gexf":
        return "GEXF"
    is_xml = _XML.match(start) or (_XML_SUFFIX.search(path) and start.lstrip().startswith(b"<"))
    return "GraphML" if is_xml else None


def read_networkx_file(path: str, format: Format, encoding: str | None = None) -> networkx.Graph:
    """The graph of a file, directed where the file says so, with an edge for each of its edges."""
    nx = need("networkx", f"{path}: reading {format}")
    with open_bytes(path, encoding, part=OBJECTS) as stream:
        data: bytes = stream.read()
    with naming_damage(f"{path}: the {format} file", (OSError, MemoryError)):
        graph = {"GML": _read_gml, "GEXF": _read_gexf, "JSON": _read_node_link}[format](
            nx, path, data
        )
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


def _read_gexf(nx: ModuleType, path: str, data: bytes) -> networkx.Graph:
    SafeXml(path, "GEXF").parse([data])
    graph = nx.read_gexf(io.BytesIO(data))
    # Every node of the file has a label there, if only None; one that an edge brought has nothing.
    unknown = next(
        (node for node, attributes in graph.nodes(data=True) if "label" not in attributes), None
    )
    if unknown is not None:
        _refuse_end(path, unknown)
    return graph


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


def _root(start: bytes) -> str:
    """The name of the first element, where the first bytes of a file are XML."""
    found: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda tag, _: found.append(tag.rpartition(" ")[2])
    with suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(start, False)
    return found[0] if found else ""
