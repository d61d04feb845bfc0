"""``datasets``: the graphs that can be named."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from . import options as opt
from .output import print_json, print_table

EXAMPLES = """
Examples:

  ultrahyperbolic datasets
  ultrahyperbolic datasets --json
  ultrahyperbolic embed lesmis"""


def datasets(as_json: opt.Json = False) -> None:
    """The data sets that can be named in place of a file.

    Their weights, where they have any, are tie strengths, as everywhere
    (docs/graphs.md). What is not here says what it needs.
    """
    from ..datasets import names

    found = {name: (line, available(name)) for name, line in names().items()}
    if as_json:
        rows = [{"name": name, "description": line, "available": here} for name, (line, here) in found.items()]
        print_json({"datasets": rows})
        return
    print_table(
        ("name", "here", "what it is"),
        [(name, "yes" if here else "no", line) for name, (line, here) in found.items()],
    )


def available(name: str) -> bool:
    """Whether a data set can be loaded without a download or an installation."""
    from ..datasets import coauthors, nouns
    from ..graph import GraphError

    if name in ("lesmis", "davis"):
        return find_spec("networkx") is not None
    if name.startswith("wordnet"):
        try:
            nouns._find(None)
        except GraphError:
            return False
    if name == "nips":
        folders = (os.environ.get(coauthors.DATA_FOLDER), coauthors._cache_folder())
        return any(folder is not None and Path(folder, coauthors._FILE).is_file() for folder in folders)
    return True
