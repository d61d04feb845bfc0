"""The comparison with peers: one measuring code, figures that add up, tables and bars."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ultrahyperbolic import Graph, PseudoHyperboloid, datasets
from ultrahyperbolic.evaluation import evaluate, hold_out_edges, link_prediction

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def same_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def club():
    return datasets.karate()


def points_of(manifold, n=34):
    return manifold.random(n, generator=torch.Generator().manual_seed(3))


def test_a_matrix_of_distances_is_measured_as_the_points_it_is_of(club):
    from measuring import MEASURES, auc, measured, placed, table

    manifold = PseudoHyperboloid(2, 2)
    points = points_of(manifold)
    matrix = manifold.cdist(points, dissimilarity="geodesic").numpy()
    made = placed(np.arange(34.0)[:, None], table(matrix))
    ours = evaluate(club, points, manifold)
    assert measured(club, *made) == pytest.approx({key: ours[key] for key in MEASURES}, abs=1e-12)
    held = hold_out_edges(club, 0.1)
    assert auc(club, *made, held) == link_prediction(club, points, manifold, held.edges).auc


def test_the_spaces_are_what_they_are_called():
    from measuring import FUNCTIONS

    x = torch.tensor([[0.3, 0.1], [0.0, 0.0]], dtype=torch.float64)
    y = torch.tensor([[0.3, 0.1], [math.tanh(0.5), 0.0]], dtype=torch.float64)
    assert FUNCTIONS["poincare"](x, y).tolist() == pytest.approx([0.0, 1.0])
    assert FUNCTIONS["euclidean"](x, y).tolist() == pytest.approx([0.0, math.tanh(0.5)])
    a, b = torch.tensor([0.0, 3.0, 0.0, 0.0, 16.0]), torch.tensor([0.0, 0.0, 4.0, 0.0, 1.0])
    assert float(FUNCTIONS["wembed"](a, b)) == pytest.approx(5.0 / 2.0)  # 16^(1/4)
    assert float(
        FUNCTIONS["cosine"](torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    ) == pytest.approx(1.0)


def test_scores_of_ties_are_those_of_their_definitions():
    from measuring import link_scores

    #  0 - 1 - 2, 0 - 3 - 2, 3 - 4: nodes 0 and 2 share 1, of degree 2, and 3, of degree 3.
    graph = Graph.from_arrays([0, 1, 0, 2, 3], [1, 2, 3, 3, 4], ids=5)
    scores = link_scores(graph)
    assert scores["adamic_adar"][0, 2] == pytest.approx(1 / math.log(2) + 1 / math.log(3))
    assert scores["adamic_adar"][1, 4] == 0.0
    assert scores["preferential"][3, 1] == 6.0


def test_published_protocol_ranks_hypernyms_alone_among_all_that_are_none():
    from measuring import ranked, space_of

    # On a line: the root 0 at 0, 1 at 1, its child 2 at 1.5, which is nearer to 1 than the root is.
    line = space_of(np.array([[0.0], [1.0], [1.5]]), "euclidean")
    found = ranked(*line, np.array([1, 2, 2]), np.array([0, 0, 1]))
    # Of 1 the hypernym is second after its own hyponym; of 2 both are before all others, of which
    # there are none.
    assert found.mean_rank == pytest.approx((2 + 1 + 1) / 3)
    assert found.map == pytest.approx((1 / 2 + 1.0) / 2)
    assert (found.median_rank, found.lost) == (1.0, 0.0)
    # 0 is asked for the farthest of 1,500: all between are before it.
    line = space_of(np.arange(1500.0)[:, None], "euclidean")
    found = ranked(*line, np.array([0, 0, 0]), np.array([1, 2, 1499]))
    assert (found.median_rank, found.lost) == (1.0, pytest.approx(1 / 3))


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Run a part, and read the file it keeps."""
    import compare

    def run(*words, path=tmp_path / "out" / "figures.json"):
        monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, words), "--json", str(path)])
        compare.main()
        return json.loads(
            path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
        )

    return run


@pytest.mark.slow
def test_runs_are_kept_and_not_repeated(compare, monkeypatch):
    import compare as runs

    first = compare("run", "--peers", "spectral", "--graphs", "karate", "--held-out", 0)
    assert {"spectral.karate.map", "spectral.karate.seed0.map", "spectral.karate.memory"} < set(
        first
    )
    assert "spectral.karate.auc" not in first
    assert 0.0 < first["spectral.karate.cpu"] < first["spectral.karate.process_cpu"]
    monkeypatch.setattr(runs, "one", lambda *words: pytest.fail("trained again"))
    assert compare("run", "--peers", "spectral", "--graphs", "karate", "--held-out", 0) == first
    assert compare(
        "run",
        "--peers",
        "spectral,umap",
        "--graphs",
        "karate",
        "--skip",
        "umap.karate",
        "--held-out",
        0,
    )


def test_a_peer_that_fails_is_said_and_the_run_goes_on(compare, monkeypatch, capsys):
    import compare as runs

    def one(peer, *words):
        if peer.title == "UMAP":
            raise runs.PeerError("UMAP failed")
        return {"map": 0.5, "cpu": 1.0}

    monkeypatch.setattr(runs, "one", one)
    found = compare(
        "run", "--peers", "umap,wembed", "--graphs", "karate", "--seeds", 1, "--held-out", 0
    )
    assert found == {"wembed.karate.seed0.map": 0.5, "wembed.karate.seed0.cpu": 1.0} | {
        "wembed.karate.map": 0.5,
        "wembed.karate.cpu": 1.0,
    }
    assert "umap.karate.seed0: UMAP failed" in capsys.readouterr().out


@pytest.mark.slow
def test_ours_are_trained_by_the_public_call(club):
    from measuring import measured, space_of
    from methods import Given, ours

    options = {"signature": "2,2", "iterations": "30"}
    found = ours(Given(club.edges, club.n_nodes, club.weights, 4, 0, options))
    measures = measured(club, *space_of(found.coordinates, found.dissimilarity, **found.extra))
    assert found.coordinates.shape == (34, 5)
    assert (found.extra["p"], found.extra["q"]) == (2, 2)
    assert measures["map"] > 0.5


def test_an_unknown_peer_and_a_missing_environment_are_said(compare, monkeypatch, tmp_path):
    import compare as runs

    with pytest.raises(SystemExit, match="no peer is called nobody"):
        compare("run", "--peers", "nobody")
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"setup\.py wembed"):
        compare("run", "--peers", "wembed", "--graphs", "karate")


def test_what_needs_no_embedding(compare):
    found = compare("baselines", "--graphs", "karate,planted_tree", "--seeds", 1)
    assert found["centrality.planted_tree.depth"] > 0.5
    assert 0.5 < found["preferential.karate.auc"] < 1.0
    assert "pagerank.karate.depth" not in found


def figures(**changes):
    """Figures for which every bar holds, but for what is changed: ``peer.graph.measure``."""
    from compare import DEPTHS, GRAPHS

    found = {}
    for graph in dict.fromkeys((*GRAPHS, *DEPTHS)):
        for peer, good in (("wembed", 0.9), ("gensim", 0.5), ("ours", 0.95), ("q22", 0.95)):
            for measure in ("map", "recall_at_1", "tie_order", "spearman_all", "depth"):
                found[f"{peer}.{graph}.{measure}"] = good
            found |= {f"{peer}.{graph}.violated_orders": 1 - good, f"{peer}.{graph}.cpu": 5.0}
    found["gensim.nips.cpu"] = 100.0
    return found | {key.replace("__", "."): value for key, value in changes.items()}


def test_bars_hold_and_fail(capsys):
    from peer_tables import bars

    assert bars(figures())["bars.failed"] == 0
    for key, value in (
        ("ours__lesmis__tie_order", 0.8),
        ("ours__mammals__depth", 0.8),
        ("q22__netscience__cpu", 21.0),
        ("q22__nips__cpu", 11.0),
        ("q22__nips__spearman_all", 0.4),
        ("q22__nips__violated_orders", 0.6),
    ):
        assert bars(figures(**{key: value}))["bars.failed"] == 1, key
    low = {f"ours__{graph}__map": 0.89 for graph in ("jazz", "nips")}
    assert bars(figures(**low))["bars.map_first"] == 10
    assert bars(figures(**low))["bars.failed"] == 0
    assert bars(figures(**low, ours__karate__map=0.89))["bars.failed"] == 1
    capsys.readouterr()
    assert bars({})["bars.failed"] > 0
    assert "not measured" in capsys.readouterr().out


def test_the_page_gets_its_tables(tmp_path):
    import compare as program

    source = tmp_path / "figures.json"
    source.write_text(
        json.dumps(figures() | {"wembed.karate.seed0.map": 0.9, "wembed.karate.seed1.map": 0.9})
    )
    page = tmp_path / "page.md"
    page.write_text((FOLDER.parent / "docs" / "comparison.md").read_text())
    for _ in range(2):  # which must not grow
        program.main(["table", str(source), "--docs", str(page)])
    text = page.read_text()
    assert "| karate | 0.900 | 0.500 | **0.950** | **0.950** |" in " ".join(text.split())
    assert text.count("<!-- map -->") == 1
    assert "WEmbed, trainings from 2 seeds: karate" in text
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="must have one <!-- map -->"):
        program.main(["table", str(source), "--docs", str(page)])
