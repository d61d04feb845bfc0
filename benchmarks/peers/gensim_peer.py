"""gensim's PoincareModel: Poincaré embeddings (Nickel & Kiela 2017), 300 epochs, each tie as a relation both ways.

With ``both=no`` each tie is one relation, in half the time.
"""

from __future__ import annotations

import numpy as np
from gensim.models.poincare import PoincareModel
from peer import Given, Placed, main


def train(given: Given) -> Placed:
    """The points of the ball; a node without a tie is unknown to gensim."""
    pairs = given.edges if given.options.get("both") == "no" else given.both_ways[0]
    relations = [(str(a), str(b)) for a, b in pairs.tolist()]
    model = PoincareModel(relations, size=given.dim, seed=given.seed)
    model.train(epochs=int(given.number("epochs", 300)))
    coordinates = np.full((given.n, given.dim), np.nan)
    known = [node for node in range(given.n) if str(node) in model.kv.key_to_index]
    coordinates[known] = [model.kv[str(node)] for node in known]
    return Placed(coordinates, "poincare")


if __name__ == "__main__":
    main(train)
