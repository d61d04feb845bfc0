"""``embed --product`` and the questions that its folder answers."""

from __future__ import annotations

import json
from pathlib import Path

import ultrahyperbolic as uh


def test_a_product_is_trained_asked_and_gone_on_with(call):
    result = call("embed karate --product 2,1+flat2 -o club --iterations 40")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "embedded on Q^(2,1) x R^2, seed 0, after " in result.stdout
    assert (
        json.loads(Path("club/run.json").read_text(encoding="utf-8"))["config"]["product"]
        == "2,1+flat2"
    )
    assert isinstance(uh.load("club").manifold, uh.Product)
    assert call("rank club --top 3").exit_code == 0
    near = call("neighbors club 34 --json")
    assert near.exit_code == 0, near.output
    assert len(json.loads(near.stdout)) > 0
    assert call("report club").exit_code == 0
    assert call("export club --format graphml -o club.graphml").exit_code == 0
    assert call("evaluate club --graph karate").exit_code == 0
    assert "club is finished" in call("embed --resume club").stdout
    longer = call("embed karate --product 2,0+flat1 -o short --time-limit 0.05 --no-report --quiet")
    assert longer.exit_code == 0, longer.output
    assert call("embed --resume short --time-limit 60 --no-report --quiet").exit_code == 0


def test_what_does_not_go_with_it_is_refused(refuse):
    twice = "--product names the geometry, with beta as in 3,1@-4+flat2: leave the others out"
    assert refuse("embed karate --product 2,1+flat2 --signature 3,1") == twice
    assert refuse("embed karate --product 2,1+flat2 --flat") == twice
    assert refuse("embed karate --product 2,1+flat2 --beta -4") == twice
    assert refuse("embed karate --product 2,1+round2").startswith(
        "--product must be factors joined by +, each p,q or flat and a dimension, such as "
        "3,1+2,0+flat2"
    )
    assert "cannot train products of geometries" in refuse(
        "embed karate --product 2,1+flat2 --backend numba"
    )
