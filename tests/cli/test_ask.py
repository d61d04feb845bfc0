"""The commands suggest, cluster and place, and embed --continue-from."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.plot.maps import communities_of
from ultrahyperbolic.training import suggest as module

FEW = ("--iterations", "60")


@pytest.fixture
def own(club, tmp_path):
    """The club in a folder that may be changed."""
    return Path(shutil.copytree(club, tmp_path / "own"))


def test_suggest_prints_pairs_and_learns_once(call, own, monkeypatch):
    result = call("suggest", own, "-k", 4)
    assert result.exit_code == 0, result.output
    header, *lines, score, measured = result.stdout.splitlines()
    assert header.split() == ["node", "neighbor", "distance", "score", "reason"]
    assert len(lines) == 4
    assert all(" % " in line and "common neighbour" in line for line in lines)
    assert score == "score: the chance that this is a tie, if a tenth of your ties were missing"
    assert re.fullmatch(
        r"8 of your ties were hidden, 10 times: "
        r"on average, \d+ % of the first 4 suggestions were among them",
        measured,
    )
    one = call("suggest", own, "-k", 1).stdout.splitlines()[-1]
    assert re.search(r": in \d+ % of these rounds, the first suggestion was among them$", one)
    monkeypatch.setattr(module, "learn", None)
    assert call("suggest", own, "-k", 4).stdout == result.stdout


def test_suggest_of_one_node_as_json_and_csv(call, own):
    result = call("suggest", own, "-k", 2, "--node", 34, "--json", "--csv", "found.csv")
    data = json.loads(result.stdout)
    assert [row["node"] for row in data["suggestions"]] == ["34", "34"]
    assert 0 < data["suggestions"][0]["score"] < 1
    assert "precision" not in data
    with open("found.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["neighbor"] for row in rows] == [row["neighbor"] for row in data["suggestions"]]
    assert [row["reason"] for row in rows] == [row["reason"] for row in data["suggestions"]]
    assert 0 <= json.loads(call("suggest", own, "--json").stdout)["precision"] <= 1


def test_suggest_says_what_it_lacks(call, refuse, own):
    assert "no node '35'" in refuse("suggest", own, "--node", "35")
    Path("three-ties.tsv").write_text("a\tb\nb\tc\nc\td\n")
    call("embed", "three-ties.tsv", "-o", "few", *FEW, "--no-report", "--quiet")
    Path("three-ties.tsv").unlink()
    result = call("suggest", "few")
    assert "scores: they need 20 ties or more" in result.stderr
    assert "score" not in result.stdout


def test_cluster_prints_communities_from_the_largest(call, own):
    result = call("cluster", own)
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["cluster", "nodes", "most", "central"]
    sizes = [int(line.split()[1]) for line in lines]
    assert sum(sizes) == 34
    assert sizes == sorted(sizes, reverse=True)
    data = json.loads(call("cluster", own, "--json", "--no-keep").stdout)
    assert data["sizes"] == sizes
    assert len(data["nodes"]) == 34


def test_cluster_writes_its_column_and_the_report_again(call, own):
    assert call("cluster", own).exit_code == 0
    kept = uh.load(own)
    assert kept.attributes["cluster"].tolist() == kept.cluster().tolist()
    assert (own / "report.html").exists()


def test_clusters_are_those_that_the_report_shows(call, own):
    saved = uh.load(own)
    for by in ("graph", "map"):
        found = json.loads(call("cluster", own, "--by", by, "--no-keep", "--json").stdout)
        assert [row["cluster"] for row in found["nodes"]] == saved.cluster(by).tolist()
    rows = np.arange(len(saved))
    assert communities_of(saved, None, rows).tolist() == saved.cluster().tolist()
    assert communities_of(saved, uh.datasets.karate(), rows).tolist() == saved.cluster().tolist()
    assert saved.cluster().tolist() != saved.cluster("map").tolist()


def test_place_writes_all_nodes_and_marks_the_new_ones(call, refuse, own):
    Path("new.tsv").write_text("a\tb\tweight\nnew1\t34\t5\nnew1\t33\t3\nnew2\tnew1\t2\n")
    result = call("place", own, "new.tsv", "-o", "placed")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("new1      34 (")
    placed, old = uh.load("placed"), uh.load(own)
    assert list(placed.ids) == [*old.ids, "new1", "new2"]
    assert (placed.points[: len(old)] == old.points).all()
    assert placed.attributes["new"].tolist() == [""] * len(old) + ["yes", "yes"]
    tied = json.loads(call("neighbors", "placed", "new1", "-k", 40, "--json").stdout)["neighbors"]
    assert len(tied) == len(old) + 1
    assert {row["node"] for row in tied if row["connected"]} == {"34", "33", "new2"}
    assert "new1" in call("neighbors", "placed", "34", "-k", 40).stdout
    assert "holds an embedding already" in refuse("place", own, "new.tsv", "-o", "placed")
    Path("old.tsv").write_text("1\t2\n")
    assert "nothing to place" in refuse("place", own, "old.tsv", "-o", "other")


def test_embed_continues(call, refuse, own):
    club = uh.datasets.karate()
    rows = zip(club.edges.tolist(), club.weights.tolist(), strict=True)
    lines = [f"{club.ids[i]}\t{club.ids[j]}\t{w}" for (i, j), w in rows]
    Path("more.tsv").write_text("\n".join([*lines, "new\t34\t5"]) + "\n")
    result = call("embed", "more.tsv", "--continue-from", own, "-o", "more", *FEW, "--no-report")
    assert result.exit_code == 0, result.output
    found = uh.load("more")
    assert len(found) == 35
    assert found.record.config["start"] == "given"
    refused = refuse(
        "embed", "more.tsv", "--continue-from", own, "-o", "other", "--signature", "2,2"
    )
    assert "the earlier embedding is on Q^(3,3), beta -1, and p = 2 is another geometry" in refused
    assert "no such folder" in refuse(
        "embed", "more.tsv", "--continue-from", "nowhere", "-o", "other"
    )
