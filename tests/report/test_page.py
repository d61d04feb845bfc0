from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from report.conftest import HOSTILE, points_on, ring
from ultrahyperbolic import (
    Euclidean,
    Graph,
    PseudoHyperboloid,
    TrainingConfig,
    datasets,
    embed,
    load,
)
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.graph.flow import Centrality
from ultrahyperbolic.plot import maps
from ultrahyperbolic.report import contents, render, write_report
from ultrahyperbolic.report.words import percent


class Page(HTMLParser):
    """The text of a page by section, its data, and the tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: dict[str, str] = {}
        self.order: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict = {}
        self.here, self.script = "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        if tag == "section":
            self.here = found["id"]
            self.order.append(self.here)
            self.sections[self.here] = ""
        self.script = found if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.script = None
        if tag == "section":
            self.here = ""

    def handle_data(self, text):
        if self.script is not None:
            if self.script.get("id") == "data":
                self.data = json.loads(text)
        elif self.here:
            self.sections[self.here] += " " + " ".join(text.split())


def read(embedding: Embedding, **options) -> Page:
    return Page(render(embedding, **options))


def test_it_is_one_file_that_asks_for_nothing(club, tmp_path):
    path = write_report(club, tmp_path)
    assert path == tmp_path / "report.html"
    assert list(tmp_path.iterdir()) == [path]
    page = Page(path.read_text(encoding="utf-8"))
    assert not [
        tag for tag, found in page.tags if tag in ("link", "iframe", "img") or "src" in found
    ]
    policy = next(found["content"] for tag, found in page.tags if found.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy.partition("style-src")[0]
    assert path.stat().st_size < 1e6


def test_it_says_what_was_embedded_and_how_well(club):
    page = read(club)
    measures = club.run["measures"]
    assert "Embedded in the curved space Q 3,1" in page.sections["about"]
    for words in ("10 distinct", "asymmetric pairs summed: 7", "a pseudo-hyperboloid"):
        assert words in page.sections["again"]
    fit = page.sections["fit"]
    assert f"The other {percent(measures['violated_orders'])} are violated orders." in fit
    assert "(Recall@1; chance level: 13.9 %)" in fit
    assert f"Map and centrality {measures['delta_centrality']:.3f}" in fit


def test_ties_with_directions_are_counted_as_such():
    arcs = [("a", "b", 12), ("b", "a", 2), ("b", "c", 3), ("c", "d", 7)]
    page = read(embed(Graph.from_edges(arcs, directed=True), p=2, q=1, iterations=5, quiet=True))
    assert "4 nodes and 4 directed ties" in page.sections["about"]
    assert "4 directed, between 3 pairs, with weights from 3 to 14" in page.sections["again"]
    assert "All 3 tied pairs are drawn" in page.sections["map"]


def with_measures(club: Embedding, **measures: float) -> Embedding:
    run = club.run | {"measures": club.run["measures"] | measures}
    return Embedding(
        club.ids, club.points, club.manifold, run, club.graph, popularity=club.popularity
    )


def test_the_most_central_nodes_are_named_and_without_the_graph_those_of_smallest_delta(club):
    first, second, third = club.hierarchy()["node"].tolist()[:3]
    about = read(club).sections["about"]
    central = (
        rf"The most central nodes are {first} +\(rank 1\) , {second} +\(rank 2\) and {third} "
        r"+\(rank 3\) \."
    )
    assert re.search(central, about)
    bare = read(Embedding(club.ids, club.points, club.manifold, popularity=club.popularity))
    assert "central" not in bare.sections["about"]
    assert "Centrality" not in bare.sections["ranking"]
    first, second, third = club.hierarchy(by="delta")["node"].tolist()[:3]
    near = (
        rf"{first} +\(rank 1\) , {second} +\(rank 2\) and {third} +\(rank 3\) have the smallest δ"
    )
    assert re.search(near, bare.sections["about"])


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        ({"map": 0.49}, "The fit is poor: near nodes are often not neighbours (mAP 0.490"),
        ({"map": 0.51, "violated_orders": 0.26}, "The fit is poor: in 26.0 % of comparisons"),
        ({"map": 0.51, "violated_orders": 0.24}, None),
        ({"tie_order": 0.59}, "Of two ties, the stronger is shorter in only 59 %"),
        ({"tie_order": 0.61}, None),
    ],
)
def test_a_poor_fit_is_told_at_the_top(club, measures, words):
    shown = with_measures(club, **{"map": 0.9, "violated_orders": 0.01, **measures})
    about = read(shown).sections["about"]
    assert ("Note:" in about) == (words is not None)
    if words is not None:
        assert words in about
        assert about.index("Note:") < about.index("The network has"), "it is said first"
    # The lead claims nothing that a note denies.
    assert ("worked badly here" in about) == ("The fit is poor" in about)
    assert ("strongly tied ones lie close together" in about) == (words is None)


def test_the_lead_tells_the_size_the_communities_the_centre_and_what_fits_worst():
    path = Graph.from_edges(
        [("a", "b", 9), ("b", "c", 1), ("c", "d", 1), ("d", "e", 1), ("x", "y", 1)]
    )
    places = np.array([0.0, 40.0, 41.0, 42.0, 43.0, 100.0, 101.0])[:, None]
    found = Embedding(list("abcdexy"), places, Euclidean(1), {}, path)
    about = read(found.with_attributes(cluster=np.array([0, 0, 1, 1, 1, 2, 2]))).sections["about"]
    assert "The network has 7 nodes and 5 ties, in 2 components, the largest of 5." in about
    assert (
        "There are 3 communities, by their strongest members: c and d (3); b and a (2); x and y "
        "(2)." in about
    )
    assert (
        "Of the strong ties, a – b fits worst: it is longer than 80.0 % of the ties."
        in " ".join(about.split())
    )
    assert re.search(
        r"most central nodes are c +\(rank 1\) , b +\(rank 2\) and d +\(rank 2\) ", about
    )


def test_ranks_that_are_estimated_have_intervals(club):
    exact = read(club)
    assert "rank_low" not in exact.data["nodes"]
    assert "In brackets" not in exact.sections["ranking"]
    found = club.with_record(club.record)
    vars(found)["centrality"] = Centrality(
        -np.arange(34.0), np.full(34, 0.4)
    )  # of which the neighbours overlap
    del vars(found)["rank"]
    page = read(found)
    assert page.data["nodes"]["rank_low"] == [1, *range(1, 34)]
    assert page.data["nodes"]["rank_high"] == [*range(2, 35), 34]
    assert re.search(
        r"most central nodes are 1 +\(rank 1–2\) , 2 +\(rank 1–3\)", page.sections["about"]
    )
    assert (
        "In brackets: the interval of ranks that the standard errors leave open"
        in page.sections["ranking"]
    )


def test_the_data_are_those_of_the_embedding(club):
    data, table = read(club).data, club.hierarchy()
    nodes = data["nodes"]
    assert nodes["name"] == table["node"].tolist()
    assert nodes["rank"] == table["rank"].tolist()
    for name in ("centrality", "delta"):
        assert nodes[name] == pytest.approx(table[name].tolist(), rel=1e-7)
    for name in ("delta_rank", "strength_rank", "eigenvector_rank", "pagerank_rank"):
        assert nodes[name] == table[name].tolist()
    assert nodes["strength"] == [club.graph.strength[club.index(node)] for node in nodes["name"]]
    (side,) = [column for column in data["colours"] if column["name"] == "club"]
    assert [side["kinds"][code] for code in side["codes"]] == table["club"].tolist()
    near = np.array(data["near"]["nodes"]).reshape(34, data["near"]["k"])
    for k, node in enumerate(nodes["name"]):
        assert [nodes["name"][j] for j in near[k]] == club.neighbors(node, k=5)["node"].tolist()
    free = [[nodes["name"][j] for j, _ in row] for row in data["near"]["free"]]
    for node, found in zip(nodes["name"], free, strict=True):
        table = club.neighbors(node, k=33)
        assert found == table[~table["connected"]]["node"].tolist()[:5]
    ends = np.array(data["edges"]["ends"]).reshape(-1, 2)
    pairs = {frozenset((nodes["name"][a], nodes["name"][b])) for a, b in ends}
    assert pairs == {frozenset((club.ids[a], club.ids[b])) for a, b in club.graph.edges}
    far = [club.distance(nodes["name"][a], nodes["name"][b]) for a, b in ends]
    assert data["edges"]["distances"] == pytest.approx(far, rel=1e-3)
    assert data["loss"]["values"] == pytest.approx(club.run["loss"], rel=1e-5)


def test_bands_of_strength_hold_all_edges_and_never_part_equals(club):
    edges = read(club).data["edges"]
    by_band: dict[int, set[float]] = {}
    for band, weight in zip(edges["band"], edges["weights"], strict=True):
        by_band.setdefault(band, set()).add(weight)
    assert sum(count for *_, count in edges["bands"]) == len(edges["weights"]) == 78
    assert 2 <= len(by_band) <= 4
    ordered = [by_band[band] for band in sorted(by_band)]
    assert all(max(low) < min(high) for low, high in pairwise(ordered))
    assert [[min(band), max(band)] for band in ordered] == [
        [low, high] for low, high, _ in edges["bands"]
    ]


def test_without_the_graph_it_says_what_is_missing(club):
    alone = Embedding(club.ids, club.points, club.manifold, club.run)
    page = read(alone)
    assert page.data["edges"] is None
    assert "strength" not in page.data["nodes"]
    assert "The ties are missing" in page.sections["map"]
    assert "all 561 pairs" in page.sections["distances"]
    assert "78 ties" in page.sections["about"]  # the record knows
    assert read(alone, graph=club.graph).data["edges"] is not None


def test_a_graph_that_is_given_later_ranks_as_if_it_had_been_there(club, tmp_path):
    expected = read(club).data["nodes"]
    bare = Embedding(club.ids, club.points, club.manifold, club.run, popularity=club.popularity)
    page = read(bare, graph=club.graph)
    assert page.data["nodes"] == expected
    assert "The most central nodes are 34" in page.sections["about"]
    alone = read(load(club.save(tmp_path / "club"))).data["nodes"]
    for name in ("name", "rank", "centrality", "delta", "delta_rank"):
        assert alone[name] == expected[name]


def places(scores: list[float]) -> list[int]:
    """1 and how many nodes have a higher score."""
    return [1 + sum(other > score for other in scores) for score in scores]


def test_without_a_record_it_says_so():
    manifold = PseudoHyperboloid(2, 1)
    page = read(Embedding(["a", "b", "c"], points_on(manifold, 3), manifold))
    assert "no recorded measures" in page.sections["fit"]
    assert page.data["loss"] is None
    assert "was not recorded" in page.sections["again"]
    one = Embedding(["a"], points_on(manifold, 1), manifold)
    assert read(one).data["near"]["nodes"] == []


def test_a_graph_with_other_nodes_is_refused(club):
    with pytest.raises(ValueError, match="the nodes of the embedding, in their order"):
        render(club, graph=datasets.lesmis())


def test_another_graph_is_named_as_such(club):
    other = Graph.from_edges([("1", "2", 1.0), ("3", "34", 2.0)], nodes=list(club.ids))
    page = read(club, graph=other)
    assert "not the graph that was embedded" in page.sections["again"]
    assert page.data["nodes"]["strength_rank"] == places(page.data["nodes"]["strength"])
    assert "not the graph that was embedded" not in read(club).sections["again"]


# --- what came from elsewhere ------------------------------------------------------------


def test_labels_are_data_and_never_markup(hostile):
    text = render(hostile)
    page = Page(text)
    assert sorted(page.data["nodes"]["id"]) == sorted(HOSTILE)
    assert set(HOSTILE) - {"", " "} <= set(page.data["nodes"]["name"])
    inside = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert not set(inside) & set("<>&\u2028\u2029")
    assert not [
        tag
        for tag, found in page.tags
        if tag in ("img", "svg", "b") or any(n.startswith("on") for n in found)
    ]
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 2
    assert html.escape(HOSTILE[2]) in text
    assert HOSTILE[2] not in text
    for section in ("about", "select", "again"):
        assert HOSTILE[2] in page.sections[section]  # shown as those characters


# --- large graphs ------------------------------------------------------------


@pytest.mark.parametrize(("n", "top"), [(5_000, 5_000), (100_000, 1_000), (1_000_000, 134)])
def test_of_more_nodes_fewer_are_shown(n, top):
    rank = np.random.default_rng(0).permutation(n) + 1
    shown = contents.choose_nodes(rank)
    assert shown.top == top
    assert len(np.unique(shown.nodes)) == (n if shown.whole else 2 * top)
    assert rank[shown.nodes[:top]].tolist() == list(range(1, top + 1))
    assert (np.diff(rank[shown.nodes]) > 0).all()


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(contents, "MOST_NODES", 300)
    monkeypatch.setattr(contents, "TOP", 50)
    monkeypatch.setattr(contents, "SAMPLE", 40)
    return ring(list(range(400)), PseudoHyperboloid(2, 2))


def test_large_graphs_show_the_top_and_a_sample_and_say_so(large):
    page = read(large)
    nodes = page.data["nodes"]
    assert nodes["rank"][:50] == sorted(large.rank)[:50]
    assert len(set(nodes["name"])) == 90
    assert sorted(nodes["rank"]) == nodes["rank"]
    assert max(nodes["rank"]) > 200  # of all, not of the next best
    words = "the 50 nodes that rank first and a random 40 of the other 350"
    assert words in page.sections["map"]
    assert words in page.sections["ranking"]
    assert page.data["total"] == 400
    assert sum(map(sum, page.data["density"]["counts"])) == 400


def test_of_a_large_directed_graph_the_most_central_are_named_wherever_they_rank_by_height(
    monkeypatch,
):
    for name, count in (("MOST_NODES", 20), ("TOP", 5), ("SAMPLE", 5)):
        monkeypatch.setattr(contents, name, count)
    # A chain, and at its lower end a star: who is central is none of the highest.
    arcs = [(k, k + 1) for k in range(30)] + [(30, k) for k in range(31, 61)]
    found = embed(Graph.from_edges(arcs, directed=True), p=2, q=1, iterations=5, quiet=True)
    page = read(found)
    top = found.hierarchy(by="centrality")["node"].tolist()[:3]
    assert not set(map(str, top)) & set(page.data["nodes"]["name"][:5])
    assert page.data["nodes"]["height_rank"][:5] == [1, 2, 3, 4, 5]
    about = page.sections["about"]
    assert re.search(
        r"most central nodes are {} +\(rank 1\) , {} +\(rank 2\) and {} +\(rank".format(*top), about
    )
    assert re.search(
        r"The highest, from which ties point down, are 0 +\(rank 1\) , 1 +\(rank 2\)", about
    )


def test_the_shading_of_a_large_graph_lies_beside_the_nearest_shown_node(large):
    # Ten far places in the plane, each with nodes that are shown and others that are not.
    places = np.repeat(100.0 * np.arange(10.0), 40)[:, None] * [1.0, 0.0]
    rng = np.random.default_rng(0)
    embedding = Embedding(large.ids, places + rng.normal(size=(400, 2)), Euclidean(2))
    page = read(embedding)
    shown, counts = page.data["nodes"], np.array(page.data["density"]["counts"])
    x, y = np.array(page.data["density"]["x"]), np.array(page.data["density"]["y"])
    rows, cols = np.nonzero(counts)
    seen = np.column_stack((shown["x"], shown["y"]))
    gap = np.linalg.norm(np.column_stack((x[cols], y[rows]))[:, None] - seen, axis=2).min(1)
    assert np.average(gap, weights=counts[rows, cols]) < 0.08 * np.ptp(seen, axis=0).max()


def test_large_graphs_have_the_nearest_of_all_nodes(large, geometry):
    embedding = Embedding(large.ids, points_on(geometry, 400), geometry)
    data = read(embedding).data
    names = data["nodes"]["name"] + data["near"]["others"]
    near = np.array(data["near"]["nodes"]).reshape(-1, 5)
    far = np.array(data["near"]["distances"]).reshape(-1, 5)
    for k in range(0, 90, 7):
        expected = embedding.neighbors(int(names[k]), k=5)
        assert [int(names[j]) for j in near[k]] == expected["node"].tolist()
        np.testing.assert_allclose(far[k], expected["distance"], rtol=1e-3)


def test_of_very_many_edges_the_strongest_are_drawn(monkeypatch):
    monkeypatch.setattr(contents, "MOST_EDGES", 40)
    monkeypatch.setattr(maps, "MAP_TIES", 10)  # so that each node has one
    page = read(ring(list(range(30)), PseudoHyperboloid(2, 1)))
    edges = page.data["edges"]
    assert len(edges["weights"]) == 40
    drawn = np.array(edges["ends"]).reshape(-1, 2)[edges["drawn"]]
    assert set(drawn.ravel()) == set(range(30))
    assert f"draws the strongest ties of each node, {len(drawn)} of 57" in page.sections["map"]
    assert edges["weights"] == sorted(edges["weights"])


# --- words ------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"stopped": "interrupted", "iterations": 1234}, "interrupted after 1,234 of 2,000"),
        (
            {"stopped": "reached the time limit of 60 s", "iterations": 7, "training": {}},
            "To continue: ultrahyperbolic embed --resume FOLDER --time-limit SECONDS",
        ),
        ({"stopped": "reached 2000 iterations", "iterations": 2000, "training": {}}, None),
        ({}, None),
    ],
)
def test_an_unfinished_training_is_told_at_the_top(run, words):
    run = {"config": TrainingConfig().to_json(), **run}
    shown = read(ring(list("abcdef"), PseudoHyperboloid(2, 1), run=run)).sections["about"]
    assert ("unfinished" in shown) == (words is not None)
    if words is not None:
        assert words in shown
        assert shown.index("unfinished") < shown.index("were placed")


# --- names and colours ------------------------------------------------------------


COLUMNS = {
    "team": np.array(["red", "blue", "", "red"] * 3, dtype=object),
    "age": np.array([20.5, np.nan, 31.0, 40.0] * 3),
    "cluster": np.array([1, 1, 0, 0] * 3),
}


def test_columns_of_the_table_of_nodes_can_colour_the_map():
    embedding = ring([f"n{k}" for k in range(12)], PseudoHyperboloid(2, 1))
    vars(embedding)["attributes"] = COLUMNS
    communities, team, age = read(embedding).data["colours"]
    order = np.argsort(embedding.rank, kind="stable")
    assert [column["name"] for column in (communities, team, age)] == ["community", "team", "age"]
    assert [team["kinds"][code] for code in team["codes"]] == COLUMNS["team"][order].tolist()
    assert team["kinds"][0] == "red"  # the most frequent first
    assert age["values"] == [None if np.isnan(value) else value for value in COLUMNS["age"][order]]
    same = np.array(communities["codes"])[:, None] == communities["codes"]
    cluster = COLUMNS["cluster"][order]
    assert (same == (cluster[:, None] == cluster)).all()
