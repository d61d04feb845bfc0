"""What the tests of the page share: embeddings to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, Graph, Manifold, PseudoHyperboloid, datasets, embed
from ultrahyperbolic.embedding import Embedding

HOSTILE = [
    "<img src=x onerror=\"document.title='broken'\">",
    "<script>document.title='broken'</script>",
    "</script><script>document.title='broken'</script>",
    '"><svg onload="document.title=\'broken\'">',
    "' onmouseover='document.title=1",
    "<!--data--> <!-- <script>",
    '<a href="javascript:document.title=1">press</a>',
    "<b>bold</b> &lt;i&gt; &amp;",
    "x" * 10_000,
    "مرحبا بالعالم",
    "\u202ereversed",
    "👩‍👩‍👧 🇩🇪",
    "two\nlines\tand\rmore",
    "line\u2028separators\u2029here",
    "%{x} ${y} {{z}} $\\alpha$",
    "__proto__",
    "constructor",
    "\x00\x1b[31m",
    " ",
    "",
]


SELECTION = {
    "rows": [{"geometry": "Q^{3,1}", "score": 0.5, "kept": True}, {"geometry": "R^{4}"}],
    "winner": "Q^{3,1}",
}


def points_on(manifold: Manifold, n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return manifold.random(n, generator=torch.Generator().manual_seed(seed)).numpy()


def ring(ids: Sequence[Any], manifold: Manifold, **more: Any) -> Embedding:
    """A ring with a hub, at random points."""
    n = len(ids)
    edges = [(k, (k + 1) % n, 1.0 + k % 3) for k in range(n)] + [
        (0, k, 5.0) for k in range(2, n - 1)
    ]
    labels = more.pop("labels", None)
    graph = Graph.from_edges(
        [(ids[a], ids[b], w) for a, b, w in edges],
        nodes=labels or ids,
        name=more.pop("name", "ring"),
    )
    return Embedding(ids, points_on(manifold, n), manifold, more.pop("run", {}), graph)


@pytest.fixture(scope="session")
def club() -> Embedding:
    return embed(datasets.karate(), p=3, q=1, iterations=200, quiet=True)


@pytest.fixture(scope="session")
def hostile() -> Embedding:
    """Ids, labels, the name of the graph and all of the record from the worst of files."""
    worst = HOSTILE[2]
    run = {
        "command": f"ultrahyperbolic embed '{worst}'",
        "seed": worst,
        "stopped": worst,
        "versions": {worst: worst},
        "timing": {"backend": worst},
        "graph": {"source": worst, "policies": {worst: 3}, "fingerprint": worst},
        "select": {
            "rows": [{"geometry": worst, "kept": worst}],
            "winner": worst,
            "prior": {worst: worst},
        },
    }
    labels = {node: HOSTILE[k - 3] for k, node in enumerate(HOSTILE)}
    return ring(HOSTILE, PseudoHyperboloid(2, 2, -0.5), labels=labels, name=worst, run=run)


GEOMETRIES = {
    "flat": Euclidean(4),
    "line": Euclidean(1),
    "hyperbolic": PseudoHyperboloid(4, 0, -0.5),
    "sphere": PseudoHyperboloid(0, 3, -2.0),
    "mixed": PseudoHyperboloid(2, 2, -0.25),
}


@pytest.fixture(params=GEOMETRIES.values(), ids=GEOMETRIES.keys())
def geometry(request: pytest.FixtureRequest) -> Manifold:
    return request.param
