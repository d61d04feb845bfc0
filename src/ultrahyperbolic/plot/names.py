"""The names of the nodes: their labels if these are distinct, else their ids."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from ..embedding import Embedding
from ..embedding.answers import label_texts
from ..graph import Graph

Labels = Mapping[Hashable, object]


def labels_of(embedding: Embedding, graph: Graph | None) -> Labels:
    """The labels that are known: the embedding's own, else the graph's."""
    return embedding.labels or (graph.labels if graph is not None and graph.labels else {})


def are_names(labels: Sequence[str]) -> bool:
    """Whether labels name the nodes: half or more have one of their own. Else they sort nodes into kinds.

    >>> are_names(["Ann", "Bob", "Ann", "Cid", "Dee"]), are_names(["red", "blue", "red", "red"])
    (True, False)
    """
    counts = Counter(filter(str.strip, labels))
    return sum(count == 1 for count in counts.values()) >= 0.5 * sum(counts.values()) > 0


def names_of(ids: Sequence[Hashable], labels: Labels) -> list[str]:
    """What to call each node: its label if that names it, with the id where two share one; else its id.

    >>> names_of([1, 2, 3, 4], {1: "Ann", 2: "Bob", 3: "Ann", 4: "Cid"})
    ['Ann (1)', 'Bob', 'Ann (3)', 'Cid']
    >>> names_of([1, 2, 3], {1: "red", 2: "red", 3: "blue"})
    ['1', '2', '3']
    """
    own = [node if isinstance(node, str) else str(node) for node in ids]
    texts = label_texts(ids, labels)
    if not are_names(texts):
        return own
    counts = Counter(texts)
    return [
        node if not text.strip() else text if counts[text] == 1 else f"{text} ({node})"
        for node, text in zip(own, texts, strict=True)
    ]
