"""What a linear model learns from features of the nodes: ours, and those of random walks (NetMF, close to node2vec).

    ULTRAHYPERBOLIC_DATA=folder python examples/classify.py

Half of the nodes teach, the other half is asked. The folder, or its ``graphs``, has ``cora.npz``; without it this is
done for the two sides of the karate club.
"""

import os
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ultrahyperbolic as uh
from ultrahyperbolic.arrays import Floats, Ints


def read() -> tuple[uh.Graph, Ints]:
    folder = Path(os.environ.get("ULTRAHYPERBOLIC_DATA", "."))
    for path in (folder / "cora.npz", folder / "graphs" / "cora.npz"):
        if path.exists():
            with np.load(path) as data:
                return uh.Graph.from_arrays(*data["edges"].astype(np.int64).T, ids=len(data["labels"])), data["labels"]
    club = uh.datasets.karate()
    return club, np.unique(club.attributes["club"], return_inverse=True)[1].astype(np.int64)


def walks(graph: uh.Graph, k: int = 128, length: int = 10) -> Floats:
    """The factors [n, k] of log(how often walks of up to ``length`` steps meet two nodes, over chance)."""
    ties = (graph.adjacency().toarray() > 0).astype(np.float64)
    degree = np.maximum(ties.sum(0), 1.0)
    step, here, met = ties / degree[:, None], np.eye(len(ties)), np.zeros_like(ties)
    for _ in range(length):
        here = here @ step
        met += here / length
    u, s, _ = svds(np.log(np.maximum(met * ties.sum() / degree, 1.0)), k=min(k, len(ties) - 1), random_state=0)
    return np.asarray(u * np.sqrt(s))


def main() -> None:
    graph, kinds = read()
    half = np.random.default_rng(0).permutation(len(kinds)) % 2 == 0
    ours = uh.UltrahyperbolicEmbedding(random_state=0)
    plain = uh.embed(graph, quiet=True).points
    found = {"default of embed, points": plain, "default of the estimator": ours.fit_transform(graph)}
    found |= {"its points alone": ours.embedding_, "walks with SVD": walks(graph)}
    for name, features in found.items():
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features[half], kinds[half])
        print(f"{name:26s} {features.shape[1]:4d} features  accuracy {model.score(features[~half], kinds[~half]):.3f}")


if __name__ == "__main__":
    main()
