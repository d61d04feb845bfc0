from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.evaluation import reservations

TIES = "source,target,calls\nann,bob,2\nbob,cid,1\nbob,ann,3\ncid,dan,4\ndan,dan,9\n"


def record(folder: str | Path) -> dict:
    return json.loads((Path(folder) / "run.json").read_text())


def test_it_ends_with_policies_measures_the_top_and_the_files(call):
    result = call("embed karate -o club --iterations 60")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "karate: 34 nodes, 78 ties, 1 component"
    assert lines[1] == "  directions dropped, asymmetric pairs summed: 7; --directed keeps them"
    assert lines[2].startswith("embedded on Q^(3,3), beta -1, seed 0, after ")
    assert lines[2].endswith("reached 60 iterations")
    assert "  the nearest node is a neighbour for " in result.stdout
    assert lines[-2] == "files: club/embedding.parquet, club/run.json"
    assert lines[-1] == "report, to open in a browser: club/report.html"
    start = next(k for k, line in enumerate(lines) if line.split()[:2] == ["rank", "node"]) + 1
    shown = [line.split() for line in lines[start : start + 10]]
    top = Embedding.load("club").hierarchy().head(10)
    assert [(int(rank), node) for rank, node, *_ in shown] == list(
        zip(top["rank"], top["node"], strict=True)
    )
    assert [float(value) for *_, value, _ in shown] == pytest.approx(
        top["centrality"].tolist(), rel=1e-4
    )
    assert "in brackets" not in result.stdout
    assert "\x1b" not in result.output


def test_a_poor_fit_is_said_in_the_same_words_as_on_the_report(call):
    notes = [
        line.removeprefix("  note: ")
        for line in call("embed karate -o club --iterations 1 --signature 1,0").stdout.splitlines()
        if line.startswith("  note: ")
    ]
    assert any(line.startswith("the fit is poor: ") for line in notes)
    assert notes == reservations(record("club")["measures"])
    page = Path("club/report.html").read_text(encoding="utf-8")
    assert all(f"{line[0].upper()}{line[1:]}" in page for line in notes)


def test_an_unfinished_training_does_not_blame_the_geometry(call):
    said = call("embed karate -o club --signature 1,0 --time-limit 1e-9").stdout
    said += call("evaluate club").stdout + Path("club/report.html").read_text(encoding="utf-8")
    assert said.count(". The training is unfinished") == 3
    assert "More dimensions" not in said
    assert ". The training is unfinished" in Embedding.load("club")._repr_html_()


def test_json_is_one_object_and_says_what_run_json_says(call):
    result = call("embed karate -o club --iterations 60 --signature 2,2 --seed 3 --json")
    said, run = json.loads(result.stdout), record("club")
    assert said["folder"] == "club"
    assert all(Path(file).is_file() for file in said["files"])
    assert said["measures"] == run["measures"]
    assert {"violated_orders", "recall_at_1", "map", "mean_rank", "delta_centrality"} <= set(
        said["measures"]
    )
    assert all(math.isfinite(value) for value in said["measures"].values())
    assert said["stopped"] == run["stopped"] == "reached 60 iterations"
    assert [row["rank"] for row in said["top"]] == list(range(1, 11))
    assert said["top"][0]["node"] == Embedding.load("club").hierarchy()["node"][0]
    assert (said["config"]["p"], said["config"]["q"], said["seed"]) == (2, 2, 3)


def test_the_default_folder_is_named_after_the_graph(call):
    Path("ties.of.mine.csv").write_text(TIES)
    assert call("embed karate --iterations 5 --quiet").exit_code == 0
    assert call("embed ties.of.mine.csv --iterations 5 --quiet").exit_code == 0
    assert sorted(str(path) for path in Path().glob("out/*")) == ["out/karate", "out/ties.of.mine"]


def test_the_record_is_there_before_the_first_iteration(call, monkeypatch):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    seen = []
    advance = NumbaEngine.advance

    def look(self, state, iterations):
        seen.append((state.iteration, record("club"), Path("club/embedding.parquet").exists()))
        return advance(self, state, iterations)

    monkeypatch.setattr(NumbaEngine, "advance", look)
    call("embed karate -o club --iterations 60 --seed 5")
    iteration, run, table = seen[0]
    assert (iteration, run["stopped"], run["measures"], run["loss"], table) == (
        0,
        None,
        {},
        [],
        False,
    )
    final = record("club")
    assert {key: run[key] for key in ("seed", "versions", "graph")} == {
        key: final[key] for key in ("seed", "versions", "graph")
    }
    # One of the trainings it was to try is the one that was kept.
    assert run["config"] in run["training"]["configs"]
    assert final["config"] in run["training"]["configs"]
    assert final["stopped"] == "reached 60 iterations"


def test_what_is_there_is_kept_unless_overwritten(call, refuse):
    call("embed karate -o club --iterations 5 --quiet")
    Path("club/notes.txt").write_text("mine")
    before = {file: file.read_bytes() for file in Path("club").iterdir()}
    assert "--overwrite" in refuse("embed lesmis -o club --iterations 5")
    assert {file: file.read_bytes() for file in Path("club").iterdir()} == before
    assert call("embed lesmis -o club --iterations 5 --quiet --overwrite").exit_code == 0
    assert len(Embedding.load("club")) == 77
    assert record("club")["graph"]["source"] == "lesmis"
    assert Path("club/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ("--signature ' 1 , 3 '", {"p": 1, "q": 3}),
        ("--signature flat --dim 2", {"flat": 2, "p": None}),
        ("--signature 2,1 --beta -0.5 --no-popularity", {"beta": -0.5, "popularity": False}),
        ("--temperature 0.02", {"temperature": [0.02, 0.02]}),
        ("--seeds 2 --stop ordered --popularity", {"stop": "ordered", "popularity": True}),
        ("--temperature 0.1,0.02 --dissimilarity geodesic", {"temperature": [0.1, 0.02]}),
        ("--dissimilarity cone-rule --backend reference", {"dissimilarity": "cone-rule"}),
        ("--preset paper --seed 4", {"preset": "paper", "step": 1e-6, "seed": 4}),
    ],
)
@pytest.mark.filterwarnings("ignore::ultrahyperbolic.engines.registry.SlowEngine")
def test_options_reach_the_training(call, options, config):
    result = call(f"embed karate -o club --no-report --iterations 21 --quiet {options}")
    assert (result.exit_code, result.output) == (0, "")
    run = record("club")
    assert {key: run["config"][key] for key in config} == config
    assert ("reference" in options) == (run["timing"]["backend"] == "reference")
    assert run["graph"]["policies"] == {"asymmetric_pairs_summed": 7}
    assert {"ultrahyperbolic", "torch", "numpy", "numba", "python"} <= set(run["versions"])
    assert len(run["loss"]) == run["iterations"] == 21


def test_files_are_read_as_told(call):
    Path("ties.txt").write_text(
        "calls;to;from\n2;ann;bob\n1;bob;cid\n3;bob;ann\n% 1;x;y\n4;cid;dan\n9;dan;dan\n"
    )
    Path("nodes.txt").write_text("zoe\ndan\ncid\nbob\nann\n")
    options = (
        "--delimiter ';' --header --source 3 --target 2 --weight 1 --repeated max --nodes nodes.txt"
    )
    result = call(f"embed ties.txt -o club --iterations 5 {options}")
    assert result.exit_code == 0, result.output
    graph = record("club")["graph"]
    assert graph["policies"] == {
        "comment_lines_skipped": 1,
        "self_loops_dropped": 1,
        "reversed_rows_max_taken": 1,
        "isolated_nodes": 1,
    }
    assert "  reversed rows max taken: 1\n  isolated nodes: 1\n" in result.stdout
    assert list(Embedding.load("club").ids) == ["zoe", "dan", "cid", "bob", "ann"]
    assert (graph["edges"], graph["capacities"]) == (3, 3)


def test_it_is_said_which_numbers_are_the_weights_and_how_to_name_others(call):
    Path("mails.csv").write_text(
        "id,person_a,person_b,year,n_mails\n1,ann,bob,2001,5\n2,bob,cid,2002,6\n"
    )
    result = call("embed mails.csv -o mails --iterations 5")
    assert (
        result.stderr.splitlines()[0] == "note: columns: 'person_a' – 'person_b', weight 'n_mails'"
    )
    Path("ties.gml").write_text(
        "graph [ node [ id 1 ] node [ id 2 ] node [ id 3 ] "
        "edge [ source 1 target 2 value 3 ] edge [ source 2 target 3 value 4 ] ]"
    )
    assert call("embed ties.gml -o ties --iterations 5").stderr.splitlines()[0] == (
        "note: ties.gml: the weight is taken to be 'value': name it to be sure (weight='value', "
        "--weight 'value'), or leave weights out (weight=False, --unweighted)"
    )
    Path("mails.csv").write_text("ann bob 1 3\nbob cid 2 4\n")
    assert "may be 3 or 4 (counted from 1)" in call("embed mails.csv -o mails").stderr
    assert call("embed mails.csv -o timed --iterations 5 --weight 4 --quiet").exit_code == 0
    assert Embedding.load("timed").ties.weights.tolist() == [3, 4]


def test_unweighted_leaves_the_third_column_out(call):
    Path("ties.csv").write_text(TIES)
    call("embed ties.csv -o weighted --iterations 5 --quiet")
    call("embed ties.csv -o same --iterations 5 --quiet --unweighted --repeated first")
    call("embed karate -o karate --iterations 5 --quiet --unweighted")
    assert record("weighted")["graph"]["capacities"] == 3
    assert record("same")["graph"]["capacities"] == 1
    assert record("karate")["graph"]["capacities"] == 1


@pytest.mark.parametrize("delimiter", ["tab", r"\t"])
def test_a_tab_can_be_written(call, delimiter):
    Path("ties.tsv").write_text("ann b\tbob\t2\nbob\tcid\t1\n")
    words = ("embed", "ties.tsv", "-o", "club", "--iterations", 2, "--quiet")
    assert call(*words, "--delimiter", delimiter).exit_code == 0
    assert list(Embedding.load("club").ids) == ["ann b", "bob", "cid"]


def test_a_file_wins_over_a_data_set_and_says_so(call):
    Path("karate").write_text("a b 1\nb c 2\n")
    result = call("embed karate -o club --iterations 5")
    assert result.stderr.splitlines() == [
        "note: karate is a file here: reading the file, not the data set of that name",
        "note: columns: 1 – 2, weight 3 (no header: counted from 1)",
    ]
    assert record("club")["graph"]["nodes"] == 3


def test_ids_that_could_not_be_saved_are_refused_before_training(call, refuse):
    days = pa.array(np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]"))
    pq.write_table(
        pa.table({"source": days[:2], "target": days[1:], "weight": [1.0, 2.0]}), "days.parquet"
    )
    assert "make the ids text or numbers" in refuse("embed days.parquet -o club")
    assert not Path("club").exists()


YEARS = (
    "year,Person A,Person "
    "B,Scenes\n1990,ann,bob,2\n1990,bob,cid,1\n1991,cid,dan,4\n1992,dan,ann,3\n"
)


def test_the_columns_that_were_taken_are_told_and_kept(call):
    Path("cast.csv").write_text(YEARS)
    result = call("embed cast.csv -o club --iterations 5")
    assert result.stderr == "note: columns: 'Person A' – 'Person B', weight 'Scenes'\n"
    assert list(Embedding.load("club").ids) == ["ann", "bob", "cid", "dan"]
    assert record("club")["graph"]["columns"] == {
        "source": "Person A",
        "target": "Person B",
        "weight": "Scenes",
    }
    page = Path("club/report.html").read_text(encoding="utf-8")
    assert (
        "<dt>Columns</dt><dd>&#x27;Person A&#x27; – &#x27;Person B&#x27;, weight "
        "&#x27;Scenes&#x27;</dd>" in page
    )
    said = json.loads(call("embed cast.csv -o other --iterations 5 --json").stdout)
    assert said["graph"]["columns"] == record("club")["graph"]["columns"]
    quiet = call("embed cast.csv -o third --iterations 5 --quiet")
    assert (quiet.stdout, quiet.stderr.count("\n")) == ("", 1), "a guess is told in any case"
    assert "the weight is taken to be 'Scenes'" in quiet.stderr
    assert call("select cast.csv --dim 1 --seeds 1 --iterations 5").stderr == result.stderr


ROADS = "source,target,km\nann,bob,5\nbob,cid,20\ncid,dan,4\n"


def test_distances_are_warned_of_and_read_as_strengths(call, refuse):
    Path("roads.csv").write_text(ROADS)
    columns, warning = call("embed roads.csv -o near --iterations 5").stderr.splitlines()
    assert columns == "note: columns: 'source' – 'target', weight 'km'"
    assert warning.startswith(
        "note: roads.csv: the weights are called 'km', but a weight is the strength of a tie"
    )
    assert warning.endswith("(weights_are_distances=True, --weights-are-distances)")
    result = call("embed roads.csv -o far --iterations 5 --weights-are-distances")
    assert result.stderr.splitlines() == [columns]
    assert "  distances turned into strengths 1/d: 3" in result.stdout.splitlines()
    run = record("far")
    assert run["reading"] == run["graph"]["reading"] == {"weights_are_distances": True}
    assert run["graph"]["fingerprint"] != record("near")["graph"]["fingerprint"]
    for more, same in (("--weights-are-distances", True), ("", False)):
        evaluated = json.loads(call(f"evaluate far --graph roads.csv {more} --json").stdout)
        assert evaluated["trained_on_it"] is same
    Path("roads.csv").write_text(ROADS + "dan,eve,0\n")
    assert refuse("embed roads.csv -o other --weights-are-distances").startswith(
        "roads.csv, line 5 ('dan' - 'eve'): the distance is 0;"
    )
    assert "--weights-are-distances reads them" in refuse(
        "embed roads.csv --unweighted --weights-are-distances"
    )
    assert refuse("embed karate --weights-are-distances").startswith(
        "--weights-are-distances is for reading files"
    )


def test_a_training_that_never_had_a_loss_is_not_saved(call, monkeypatch):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    def diverge(self, state, iterations):
        state.iteration += iterations
        return np.full((len(state.points), iterations), np.inf)

    monkeypatch.setattr(NumbaEngine, "advance", diverge)
    result = call("embed karate -o club --iterations 3")
    assert result.exit_code == 1
    assert result.stderr == "error: the training diverged from the start: no embedding is saved\n"
    assert not Path("club/embedding.parquet").exists()


def test_bugs_keep_their_traceback(call, monkeypatch):
    from ultrahyperbolic.training import execution as room

    def broken(*args, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(room, "embed_many", broken)
    with pytest.raises(ZeroDivisionError):
        call("embed karate -o club")


def test_the_output_counts_components_and_rows_left_out(call, tmp_path):
    (tmp_path / "ties.csv").write_text("a,b,1\nb,c,2\nx\nd,e,2\nd,f,no\n", encoding="utf-8")
    words = "embed ties.csv -o club --iterations 5 --no-report --skip-bad-rows"
    result = call(words)
    assert "note: ties.csv: 2 bad rows of 5 left out, the first on line 3\n" in result.stderr
    assert result.stdout.startswith(
        "ties.csv: 5 nodes, 3 ties, 2 components\n  bad rows skipped: 2\n"
    )
    assert json.loads(call(f"{words} --overwrite --json").stdout)["graph"]["components"] == 2
