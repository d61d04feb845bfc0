from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.cli.output import print_table
from ultrahyperbolic.datasets import nouns
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.evaluation import evaluate, reservations
from ultrahyperbolic.export.tables import read_table
from ultrahyperbolic.graph.flow import Centrality


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without the lines below it."""
    table = text.partition("in brackets: ")[0]
    return [re.split(" {2,}", line.strip()) for line in table.splitlines()]


def test_columns_stand_in_line(capsys):
    print_table(("node", "delta"), [("東京", "1.5"), ("a", "22.5")], right=("delta",))
    assert capsys.readouterr().out == "node  delta\n東京    1.5\na      22.5\n"


def test_rank_shows_the_top(call, club):
    header, *shown = rows(call("rank", club, "--top", 5).stdout)
    top = Embedding.load(club).hierarchy().head(5)
    others = ["by delta", "by strength", "by eigenvector", "by PageRank"]
    assert header == ["rank", "node", "centrality", *others, "club"]
    columns = [
        "rank",
        "node",
        "delta_rank",
        "strength_rank",
        "eigenvector_rank",
        "pagerank_rank",
        "club",
    ]
    assert [row[:2] + row[3:] for row in shown] == top[columns].astype(str).to_numpy().tolist()
    assert [float(row[2]) for row in shown] == pytest.approx(top["centrality"].tolist(), rel=1e-4)
    assert [node for _, node, *_ in shown[:2]] == ["34", "1"]


def test_rank_as_json(call, club):
    said = json.loads(call("rank", club, "--top", 3, "--json").stdout)
    expected = Embedding.load(club).hierarchy().head(3).to_dict("records")
    assert said == {"folder": str(club), "nodes": 34, "by": "centrality", "ranking": expected}


def test_rank_by_delta(call, club):
    header, *shown = rows(call("rank", club, "--by", "delta").stdout)
    assert header[:4] == ["rank", "node", "delta", "by centrality"]
    assert [node for _, node, *_ in shown] == Embedding.load(club).hierarchy(by="delta")[
        "node"
    ].tolist()[:20]
    deltas = [float(delta) for _, _, delta, *_ in shown]
    assert deltas == sorted(deltas)


def test_without_the_graph_nodes_rank_by_delta_and_it_is_said(call, refuse, club):
    loaded = Embedding.load(club)
    Embedding(loaded.ids, loaded.points, loaded.manifold, popularity=loaded.popularity).save("bare")
    result = call("rank bare --top 3 --csv ranking.csv")
    assert result.stderr.startswith(
        "note: ranked by delta, as the folder does not hold the graph: "
    )
    header, *shown = rows(result.stdout)
    assert header == ["rank", "node", "delta"]
    assert [node for _, node, _ in shown] == loaded.hierarchy(by="delta")["node"].tolist()[:3]
    assert Path("ranking.csv").read_text().splitlines()[0] == "node,rank,delta"
    assert json.loads(call("rank bare --json").stdout)["by"] == "delta"
    assert "the centrality needs the graph" in refuse("rank bare --by centrality")
    assert "'beauty'" in refuse("rank bare --by beauty")
    assert "'height'" in refuse("rank bare --by beauty")


def test_ranks_that_are_estimated_have_intervals(call, club):
    found = Embedding.load(club)
    vars(found)["centrality"] = Centrality(
        -np.arange(34.0), np.full(34, 0.4)
    )  # of which the neighbours overlap
    found.save("large")
    _, *shown, said = call("rank large --top 3").stdout.splitlines()
    assert [" ".join(line.split()[:2]) for line in shown] == ["1 (1–2)", "2 (1–3)", "3 (2–4)"]
    assert said.startswith("in brackets: the interval of ranks that the standard errors leave open")
    told = json.loads(call("rank large --top 2 --json --csv ranking.csv").stdout)
    assert f"in brackets: {told['intervals']}" == said
    assert [(row["rank_low"], row["rank_high"]) for row in told["ranking"]] == [(1, 2), (1, 3)]
    assert (
        Path("ranking.csv").read_text().startswith("node,rank,rank_low,rank_high,centrality,delta,")
    )


def test_a_directed_graph_is_ranked_by_height(call, refuse, club):
    Path("steps.tsv").write_text(
        "".join(f"{k}\t{j}\t1\n" for k in range(12) for j in range(k + 1, min(k + 4, 12)))
    )
    lines = call("embed steps.tsv --directed -o steps --iterations 20").stdout.splitlines()
    start = lines.index("the highest nodes, from which ties point down:") + 1
    assert lines[start].split() == ["rank", "node", "height", "strength"]
    assert [line.split()[1] for line in lines[start + 1 : start + 11]] == [
        str(k) for k in range(10)
    ]
    header, *shown = rows(call("rank steps").stdout)
    assert header[:5] == ["rank", "node", "height", "by centrality", "by delta"]
    assert [row[:2] for row in shown] == [[str(k + 1), str(k)] for k in range(12)]
    assert call("rank steps --by height").stdout == call("rank steps").stdout
    central = json.loads(call("rank steps --by centrality --json").stdout)["ranking"]
    assert {row["node"] for row in central[:2]} == {"5", "6"}
    assert refuse("rank", club, "--by", "height").endswith(
        "has no directions: train it with directed=True (--directed)"
    )


def test_evaluate_says_what_the_points_do_not_show(call):
    ids, manifold = [str(k) for k in range(1, 35)], PseudoHyperboloid(2, 1)
    points = manifold.random(34, generator=torch.Generator().manual_seed(0)).numpy()
    Embedding(ids, points, manifold).save("random")
    lines = call("evaluate random --graph karate").stdout.splitlines()
    notes = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
    assert notes == reservations(
        json.loads(call("evaluate random --graph karate --json").stdout)["measures"]
    )
    assert notes[0].startswith("the fit is poor: ")
    assert [line.split()[0] for line in lines[3:8]] == [
        "map",
        "recall_at_1",
        "violated_orders",
        "tie_order",
        "delta_centrality",
    ]


def test_neighbors(call, club):
    expected = Embedding.load(club).neighbors("34", k=4)
    header, *shown = rows(call("neighbors", club, "34", "-k", 4).stdout)
    assert header == ["node", "distance", "weight", "club"]
    assert [node for node, *_ in shown] == expected["node"].tolist()
    assert [float(far) for _, far, *_ in shown] == pytest.approx(
        expected["distance"].tolist(), abs=1e-4
    )
    assert [float(weight) for *_, weight, _ in shown] == expected["weight"].tolist()
    said = json.loads(call("neighbors", club, "34", "-k", 4, "--json").stdout)
    about = {"folder": str(club), "node": "34"}
    assert said == {**about, "neighbors": expected.to_dict("records")}
    assert len(rows(call("neighbors", club, "34").stdout)) == 11


def test_tuples_can_be_asked_for(call):
    manifold = PseudoHyperboloid(2, 1)
    points = manifold.random_near_pole(2, generator=torch.Generator().manual_seed(0)).numpy()
    Embedding([(1, "a"), (2, "b")], points, manifold).save("pair")
    said = json.loads(call("neighbors", "pair", '[1, "a"]', "--json").stdout)
    assert (said["node"], said["neighbors"][0]["node"]) == ([1, "a"], [2, "b"])


def test_infinite_ids_are_told_in_strict_json(call):
    ids = [math.inf, 1.5, -math.inf]
    pq.write_table(
        pa.table({"source": ids[:-1], "target": ids[1:], "weight": [1.0, 2.0]}), "ties.parquet"
    )
    said = call("embed ties.parquet -o club --iterations 5 --json").stdout
    top = [row["node"] for row in json.loads(said, parse_constant=pytest.fail)["top"]]
    assert sorted(top, key=str) == ["-Infinity", 1.5, "Infinity"]
    ranking = json.loads(call("rank club --json").stdout, parse_constant=pytest.fail)["ranking"]
    assert [row["node"] for row in ranking] == top
    assert [row[1] for row in rows(call("rank club").stdout)[1:]] == [
        {"Infinity": "inf", "-Infinity": "-inf"}.get(node, str(node)) for node in top
    ]
    for name in ("-inf", "-Infinity"):
        near = json.loads(
            call("neighbors", "club", "--json", "--", name).stdout, parse_constant=pytest.fail
        )
        assert near["node"] == "-Infinity"
        assert {row["node"] for row in near["neighbors"]} == {"Infinity", 1.5}


def test_ids_with_control_letters_do_no_harm(call):
    Path("ties.csv").write_text('"a\x1b[31m",b,1\nb,c,2\n')
    result = call("embed ties.csv -o club --iterations 5")
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert r"'a\x1b[31m'" in result.stdout
    assert "\x1b" not in call("rank club").output


def test_long_ids_are_cut_in_the_middle_on_the_terminal_alone(call):
    long = "x" * 60_000 + "end"
    Path("ties.csv").write_text(f"a,b,2\nb,{long},1\na,c,1\n")
    call("embed ties.csv -o club --iterations 5 --quiet")
    for words in ("rank club", "neighbors club b"):
        printed = call(f"{words} --csv table.csv").stdout
        assert "end" in printed
        assert max(map(len, printed.splitlines())) < 200
        assert long in Path("table.csv").read_text()
        assert long in call(f"{words} --json").stdout


def test_evaluate_measures_by_the_graph(call, club):
    embedding, graph = Embedding.load(club), datasets.karate()
    points = torch.from_numpy(embedding.points.copy())
    expected = evaluate(graph, points, embedding.manifold, popularity=embedding.popularity)
    said = json.loads(call("evaluate", club, "--graph", "karate", "--json").stdout)
    assert said == {
        "folder": str(club),
        "graph": "karate",
        "trained_on_it": True,
        "measures": expected,
    }
    assert said["measures"] == embedding.run["measures"]


def test_evaluate_prints_all_measures_with_baselines_beside(call, club):
    measures = Embedding.load(club).run["measures"]
    result = call("evaluate", club, "--graph", "karate")
    assert result.exit_code == 0
    first, ours, others, wedges = result.stdout.split("\n\n")
    assert first.startswith("karate: 34 nodes, 78 ties, weights from 2 to 14")
    assert wedges.startswith(
        "of all pairs of ties that share a node, 25.57 % are closed into a triangle and 74.43 % are"
    )
    header, *rows = ours.splitlines()
    assert header.split() == ["measure", "best", "embedding", "what", "it", "is"]
    by_name = {line.split()[0]: line.split()[1:] for line in rows}
    beside = ("_norm", "_pagerank", "_centrality")
    of_the_graph = ("transitivity", "open_wedges")
    compared = {
        name + side
        for name in ("spearman_all", "spearman_top5", "spearman_top10")
        for side in beside
    }
    assert set(by_name) == measures.keys() - compared - {*of_the_graph}
    for name, (best, value, *words) in by_name.items():
        assert best == {"violated": "0", "precision": "<=1"}.get(name.partition("_")[0], "1")
        assert float(value) == pytest.approx(measures[name], abs=1e-4)
        assert words, f"{name} is not explained"
    title, header, *rows = others.splitlines()
    assert (title, header.split()) == (
        "ρ of other rankings:",
        ["measure", "norm", "PageRank", "centrality"],
    )
    assert [line.split()[0] for line in rows] == ["spearman_all", "spearman_top5", "spearman_top10"]
    for name, *values in map(str.split, rows):
        assert list(map(float, values)) == pytest.approx(
            [measures[name + suffix] for suffix in beside], abs=1e-4
        )


def test_evaluate_by_another_graph_says_so(call, club):
    Path("few.txt").write_text("1 2 1\n3 34 2\n")
    result = call("evaluate", club, "--graph", "few.txt")
    assert "few.txt: 4 nodes, 2 ties" in result.stdout
    assert "this is not the graph that was embedded" in result.stdout


def test_evaluate_needs_nothing_but_the_folder(call, refuse, club):
    assert call("evaluate", club).stdout == call("evaluate", club, "--graph", "karate").stdout
    Path("ties.csv").write_text("who,whom,calls\nann,bob,2\nbob,cid,1\ncid,dan,4\n")
    call("embed ties.csv -o club --iterations 5 --quiet --weight calls")
    Path("ties.csv").unlink()
    Path("club/run.json").unlink()
    said = json.loads(call("evaluate club --json").stdout)
    assert (said["graph"], said["trained_on_it"]) == ("ties.csv", True)
    assert said["measures"] == Embedding.load("club").run["measures"]
    assert refuse("evaluate club --weight calls").startswith("without --graph no graph is read")


def test_held_out_ties_tell_a_random_graph_from_a_real_one(call, refuse, club):
    ends = np.random.default_rng(0).integers(60, size=(2, 150))
    Path("random.csv").write_text("".join(f"{i},{j}\n" for i, j in ends.T if i != j))
    assert "no prediction" in call("embed random.csv -o random --iterations 400").stdout
    shutil.copytree(club, "club")
    told = {}
    for folder in ("club", "random"):
        said = json.loads(call("evaluate", folder, "--held-out", "--json").stdout)
        assert said["measures"]["violated_orders"] < 0.05, "both fit well"
        told[folder] = said["held_out"]["auc"]
        again = call("evaluate", folder).stdout.splitlines()[-1]
        assert again.startswith("this is the fit to the given ties; a hidden tie is shorter")
        assert ("hardly more than by chance" in again) == (folder == "random")
        assert (
            f"{100 * told[folder]:.0f} % of comparisons" in Path(folder, "report.html").read_text()
        )
    assert told["random"] < 0.6 < told["club"]
    assert "leave --graph out" in refuse("evaluate club --held-out --graph karate")


def test_a_graph_of_few_ties_is_not_sent_to_hide_some(call, refuse):
    Path("few.csv").write_text("ann,bob\nbob,cid\ncid,dan\n")
    assert "--held-out" not in call("embed few.csv -o few --iterations 5").stdout
    assert "--held-out" not in call("evaluate few").stdout
    assert "--held-out" not in Path("few/report.html").read_text(encoding="utf-8")
    assert refuse("evaluate few --held-out").endswith(
        "too few ties to hide a tenth of them: the graph has 3"
    )


@pytest.fixture
def of_version_0_2(tmp_path):
    return shutil.copytree(Path(__file__).parents[1] / "embedding/folders/version_0_2", "old")


@pytest.mark.usefixtures("call", "of_version_0_2")
def test_a_folder_of_version_0_2_answers_what_needs_no_ties(call, refuse):
    assert [row[1] for row in rows(call("rank old").stdout)[1:]] == list("cmvjx")
    assert "ranked by delta, as the folder does not hold the graph" in call("rank old").stderr
    assert call("neighbors old c").stdout.splitlines()[0].split() == ["node", "distance"]
    assert call("plot old").exit_code == call("cluster old --by map").exit_code == 0
    assert "the report shows no ties" in call("report old").stderr
    for words in ("evaluate old", "suggest old", "cluster old", "export old --format gexf"):
        assert refuse(words) == (
            "old holds no ties, as version 0.2 kept none: embed the graph again"
        )
    Path("ties.csv").write_text("v,j,3\nv,c,9\nj,m,1\nc,m,4\nm,x,2\n")
    said = json.loads(call("evaluate old --graph ties.csv --json").stdout)
    assert said["trained_on_it"]
    Path("new.csv").write_text("new,m,1\n")
    placed = call("place old new.csv -o placed")
    assert "note: placed by the new ties alone" in placed.stderr
    assert placed.exit_code == 0


def test_evaluate_refuses_nodes_that_were_not_embedded(refuse, club):
    Path("other.txt").write_text("1 2 1\n3 99 2\n")
    assert refuse("evaluate", club, "--graph", "other.txt").endswith("such as '99'")


def test_datasets_tells_what_is_here_without_a_download(call, monkeypatch, tmp_path):
    def here(name: str) -> bool:
        return {
            row["name"]: row["available"]
            for row in json.loads(call("datasets --json").stdout)["datasets"]
        }[name]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ULTRAHYPERBOLIC_DATA", raising=False)
    assert not here("nips")
    monkeypatch.setattr(nouns, "places", lambda: iter([tmp_path / "data.noun"]))
    assert not here("wordnet-mammals")
    assert here("lesmis")
    assert here("karate")
    (tmp_path / "nips_edges.txt").touch()
    monkeypatch.setenv("ULTRAHYPERBOLIC_DATA", str(tmp_path))
    assert here("nips")
    (tmp_path / "data.noun").touch()
    assert here("wordnet-mammals")


def test_tables_are_written_as_csv_that_no_spreadsheet_runs(call):
    Path("ties.tsv").write_text("=1+1\t@x\t2\n@x\t-2\t1\n-2\tann\t3\n")
    call("embed ties.tsv -o club --iterations 5 --quiet")
    printed = call("rank club --csv ranking.csv --json").stdout
    text = Path("ranking.csv").read_text()
    assert "\n'=1+1," in text
    assert "\n'@x," in text
    assert "\n-2," in text  # a number
    rows = read_table(Path("ranking.csv"))
    ranking = json.loads(printed)["ranking"]
    assert [(row["node"], float(row["delta"]), int(row["rank"])) for row in rows] == [
        (row["node"], row["delta"], row["rank"]) for row in ranking
    ]
    call("neighbors club =1+1 -k 2 --csv near.csv")
    assert [list(row) for row in read_table(Path("near.csv"))] == [
        ["node", "distance", "weight", "connected"]
    ] * 2


def test_a_table_that_cannot_be_written_is_named(refuse, club):
    assert refuse("rank", club, "--csv", "nowhere/r.csv") == (
        "cannot write the table: nowhere/r.csv: No such file or directory"
    )


NODES = (
    "id,label,age,city\nv,Valjean,46,Digne\nj,Javert,52,Paris\nc,Cosette,8,Paris\nm,Cosette,20,\n"
)


@pytest.fixture
def cast(call):
    Path("ties.csv").write_text("v,j,3\nv,c,9\nj,m,1\nc,m,4\n")
    Path("nodes.csv").write_text(NODES)
    assert (
        call(
            "embed ties.csv --nodes nodes.csv -o cast --iterations 20 --quiet --no-report"
        ).exit_code
        == 0
    )


@pytest.mark.usefixtures("cast")
def test_labels_and_columns_of_nodes_are_shown_and_labels_taken(call, refuse):
    header, *shown = rows(call("rank cast").stdout)
    others = ["by delta", "by strength", "by eigenvector", "by PageRank"]
    assert header == ["rank", "node", "label", "centrality", *others, "age", "city"]
    assert {tuple(row[1:3]) for row in shown} == {
        ("v", "Valjean"),
        ("j", "Javert"),
        ("c", "Cosette"),
        ("m", "Cosette"),
    }
    said = json.loads(call("neighbors cast Valjean -k 3 --json").stdout)
    assert (said["node"], said["label"]) == ("v", "Valjean")
    assert said["neighbors"] == Embedding.load("cast").neighbors("v", k=3).to_dict("records")
    assert {row["node"]: row["connected"] for row in said["neighbors"]} == {
        "c": True,
        "j": True,
        "m": False,
    }
    assert {row["node"]: (row["age"], row["city"]) for row in said["neighbors"]}["m"] == (20, "")
    assert refuse("neighbors cast Cosette") == (
        "cast: the label 'Cosette' is ambiguous: 2 nodes have it ('c', 'm'); use an id"
    )
    assert (
        refuse("neighbors cast Valjan")
        == "cast: no node 'Valjan' in this embedding; did you mean Valjean?"
    )


@pytest.mark.usefixtures("cast")
def test_queries_answer_without_torch_and_pandas():
    script = (
        "import sys\n"
        "import ultrahyperbolic\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "from ultrahyperbolic.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'torch', 'pandas', 'numba', 'scipy'} & set(sys.modules)\n"
    )
    for words in (
        ["rank", "cast", "--csv", "r.csv"],
        ["neighbors", "cast", "Javert"],
        ["rank", "cast", "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert "Valjean" in done.stdout
