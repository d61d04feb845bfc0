"""Any graph that can be embedded: with odd ids and weights it is embedded, saved and read back as
it went.
"""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import ultrahyperbolic as uh

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
ODD = st.sampled_from(
    [
        "=1+1",
        "nan",
        "None",
        "\0",
        "\n",
        "🏴",
        "../../etc/passwd",
        "<script>",
        "'",
        '"',
        "a\tb",
        "\u2028",
    ]
)
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
WEIGHTS = st.floats(min_value=5e-324, max_value=1e300, exclude_min=False) | st.sampled_from(
    [5e-324, 1.0, 1e308]
)


@st.composite
def graphs(draw):
    ids = draw(
        st.lists(
            TEXTS | ODD | NUMBERS | st.tuples(TEXTS, st.integers(0, 9)),
            min_size=3,
            max_size=9,
            unique=True,
        )
    )
    edge = st.tuples(st.sampled_from(range(len(ids))), st.sampled_from(range(len(ids))), WEIGHTS)
    edges = draw(st.lists(edge, max_size=20))
    return uh.Graph.from_edges(
        [(ids[i], ids[j], w) for i, j, w in edges], nodes=ids, repeated="max"
    )


# Four strengths that overflow alike.
SQUARE = uh.Graph.from_edges(
    [("a", "b", 1e308), ("b", "c", 1e308), ("c", "d", 1e308), ("d", "a", 1e308)]
)

SPREAD = uh.Graph.from_edges([("a", "b", 1.0), ("a", "c", 5e-324)])


@given(graph=graphs(), flat=st.booleans(), backend=st.sampled_from(["numba", "reference"]))
@example(graph=SQUARE, flat=False, backend="numba")
@example(graph=SPREAD, flat=False, backend="numba")
def test_what_is_embedded_comes_back(tmp_path_factory, graph, flat, backend):
    try:
        graph.require_trainable()
    except uh.GraphError:
        return
    embedding = uh.embed(graph, dim=3, flat=flat, iterations=3, backend=backend, quiet=True)
    assert np.isfinite(embedding.points).all()
    folder = embedding.save(tmp_path_factory.mktemp("hostile") / "e")
    loaded = uh.load(folder)
    assert list(loaded.ids) == list(graph.ids) == list(embedding.ids)
    assert np.array_equal(loaded.points, embedding.points)
    assert np.array_equal(loaded.rank, embedding.rank)
    assert np.isfinite(loaded.centrality.values).all()
    assert loaded.run["graph"]["fingerprint"] == graph.fingerprint
    first = graph.ids[0]
    near = loaded.neighbors(first, k=2)
    assert list(near) == ["node", "distance", "weight", "connected"]
    assert len(near) == min(2, graph.n_nodes - 1)
