"""The report as one HTML file that needs nothing else: words, data, and a script to draw it."""

import base64
import hashlib
import json
import os
import re
from html import escape
from importlib.resources import files
from pathlib import Path

from ..embedding import Embedding
from ..embedding.store import REPORT
from ..files import replace_file
from ..graph import Graph
from . import fit, words
from .contents import gather

_PARTS = ("html", "css", "pen.js", "labels.js", "js")
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def write_report(
    embedding: Embedding,
    file: str | os.PathLike[str],
    *,
    graph: Graph | None = None,
    title: str | None = None,
) -> Path:
    """Write the report of an embedding: one HTML file that opens in a browser, without a network.

    In a folder, ``file`` is called ``report.html``. ``graph`` is the one that was embedded, with
    its nodes in the order of the embedding; it is only needed where the embedding does not have it,
    as after loading. Without a graph, the report leaves out the ties and says so. ``title`` is the
    heading; default: the last one given to a command, or the name of the graph.
    """
    path = Path(file)
    path = path / REPORT if path.is_dir() else path
    # Half a character, which text from elsewhere may hold, has no UTF-8.
    replace_file(
        path, render(embedding, graph=graph, title=title).encode("utf-8", "backslashreplace")
    )
    return path


def render(embedding: Embedding, *, graph: Graph | None = None, title: str | None = None) -> str:
    """The page of an embedding as text; see `write_report`."""
    graph = embedding.graph if graph is None else graph
    if graph is not None and list(graph.ids) != list(embedding.ids):
        raise ValueError(
            "graph must have the nodes of the embedding, in their order: see Graph.with_nodes"
        )
    contents, title = gather(embedding, graph), title or embedding.record.title
    template, style, *scripts = (
        files(__package__).joinpath(f"page.{end}").read_text("utf-8") for end in _PARTS
    )
    script = "".join(scripts)
    # A browser runs this script and no other, and loads nothing.
    known = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    parts = {
        "policy": f"default-src 'none'; script-src 'sha256-{known}'; style-src 'unsafe-inline'; "
        "img-src data: blob:",
        "style": style,
        "script": script,
        "data": as_script_data(contents.data),
        "title": escape(title or words.title(contents)),
        "unfinished": words.unfinished_note(contents.embedding.record),
        "heading": words.heading(contents, title),
        "lead": words.lead(contents),
        "warnings": fit.warnings(
            contents.measures, unfinished=contents.embedding.record.unfinished
        ),
        "facts": words.facts(contents),
        "fit": fit.tiles(contents),
        "map": words.map_note(contents),
        "ranking": words.ranking_note(contents),
        "pairs": words.pairs_note(contents),
        "select": fit.selection(contents.embedding.record.select),
        "again": words.how_to_repeat(contents),
    }
    # In one pass: no part is searched for marks.
    return re.sub(r"<!--(\w+)-->", lambda mark: parts[mark[1]], template)


def as_script_data(data: object) -> str:
    r"""JSON in which no text can be markup or end a script.

    >>> as_script_data(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
