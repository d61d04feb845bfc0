"""What a linear model learns from features of the nodes: ours, and those of random walks (NetMF,
close to node2vec).

    ULTRAHYPERBOLIC_DATA=folder python examples/classify.py

Half of the nodes teach, the other half is asked, in ten splits. This is done for the two sides of
the karate club, and for what the folder has: the subjects of ``graphs/cora.npz``, and the layers of
the worm's neurons (sensory to motor; ties in ``directed/worm.tsv.gz``, layers in
``directed/worm.nodes.tsv``).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ultrahyperbolic as uh
from ultrahyperbolic.arrays import Floats, Ints


def graphs() -> Iterator[tuple[str, uh.Graph, Ints]]:
    """Names, graphs, and a class for each node; -1 where none is known."""
    folder, club = Path(os.environ.get("ULTRAHYPERBOLIC_DATA", ".")), uh.datasets.karate()
    yield (
        "karate club",
        club,
        np.unique(club.attributes["club"], return_inverse=True)[1].astype(np.int64),
    )
    if (folder / "graphs" / "cora.npz").exists():
        with np.load(folder / "graphs" / "cora.npz") as data:
            kinds = data["labels"].astype(np.int64)
            yield (
                "Cora",
                uh.Graph.from_arrays(*data["edges"].astype(np.int64).T, ids=len(kinds)),
                kinds,
            )
    if (folder / "directed" / "worm.nodes.tsv").exists():
        worm = uh.read_graph(folder / "directed" / "worm.tsv.gz")
        rows = (folder / "directed" / "worm.nodes.tsv").read_text(encoding="utf-8").splitlines()[1:]
        layers = dict(row.split("\t") for row in rows)
        yield "worm", worm, np.array([int(layers.get(str(node), -1)) for node in worm.ids])


def walks(graph: uh.Graph, k: int, length: int = 10) -> Floats:
    """The factors [n, k] of log(how often walks of up to ``length`` steps meet two nodes, over
    chance).
    """
    ties = (graph.adjacency().toarray() > 0).astype(np.float64)
    degree = np.maximum(ties.sum(0), 1.0)
    step, here, met = ties / degree[:, None], np.eye(len(ties)), np.zeros_like(ties)
    for _ in range(length):
        here = here @ step
        met += here / length
    u, s, _ = svds(
        np.log(np.maximum(met * ties.sum() / degree, 1.0)), k=min(k, len(ties) - 1), random_state=0
    )
    return np.asarray(u * np.sqrt(s))


def main() -> None:
    for name, graph, kinds in graphs():
        ours, known = uh.UltrahyperbolicEmbedding(random_state=0), np.flatnonzero(kinds >= 0)
        plain = uh.embed(graph, quiet=True).points
        found = {
            "default of embed, points": plain,
            "default of the estimator": ours.fit_transform(graph),
        }
        found |= {"its points alone": ours.embedding_} | {
            f"walks with SVD, {k}": walks(graph, k) for k in (4, 16, 128)
        }
        print(f"{name}: {len(known)} nodes of {len(np.unique(kinds[known]))} classes")
        for what, features in found.items():
            scores = []
            for split in range(10):
                order = np.random.default_rng(split).permutation(known)
                taught, asked = order[::2], order[1::2]
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
                scores.append(
                    model.fit(features[taught], kinds[taught]).score(features[asked], kinds[asked])
                )
            print(f"  {what:26s} {features.shape[1]:4d} features  accuracy {np.mean(scores):.3f}")


if __name__ == "__main__":
    main()
