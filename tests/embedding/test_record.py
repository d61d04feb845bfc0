"""The record of a run: the keys of run.json, and what becomes of a record that holds anything."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.record import GraphRecord, RunRecord, Training
from ultrahyperbolic.loop import Ending, Stopped

KARATE = uh.datasets.karate()
# What run.json of version 0.2 has, made in Python.
KEYS = {
    "best_iteration",
    "best_loss",
    "config",
    "final_loss",
    "graph",
    "iterations",
    "loss",
    "loss_every",
    "measures",
    "nonfinite",
    "ordered_at",
    "seed",
    "start_loss",
    "steps_back",
    "stopped",
    "timing",
    "versions",
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def club():
    return uh.embed(KARATE, p=2, q=1, iterations=20, quiet=True)


def test_the_keys_of_run_json_stay(club):
    assert KEYS | {"call"} == set(club.run)
    assert set(club.run["timing"]) == {"started", "seconds", "runs", "backend", "evaluation"}
    assert set(club.run["graph"]) == {
        "source",
        "fingerprint",
        "nodes",
        "edges",
        "capacities",
        "components",
        "policies",
        "columns",
    }


def test_json_and_back(club):
    assert RunRecord.from_json(json.loads(json.dumps(club.run))) == club.record
    bare = RunRecord()
    assert (bare.to_json(), RunRecord.from_json({})) == ({}, bare)
    training = Training([{"p": 2}], "numba", "cpu", "float32", 3.0)
    known = RunRecord(
        seed=1,
        training=training,
        select={"winner": "R^2"},
        command="embed",
        reading={"header": True},
    )
    assert RunRecord.from_json(known.to_json()) == known
    about = GraphRecord(
        "ties.csv", "f", 3, 2, 1, 1, {"loops": 1}, None, "/ties.csv", {"weight": "w"}
    )
    assert GraphRecord.from_json(about.to_json()) == about
    later = {"seed": 1, "of_a_later_version": [1, {"a": 2}]}
    assert RunRecord.from_json(later).to_json() == later


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # the first text on a new machine takes seconds to draw
@given(
    st.dictionaries(
        st.sampled_from(sorted(KEYS | {"training", "select", "tries", "command", "reading"})),
        VALUES,
    )
)
def test_a_record_that_holds_anything_is_read(data):
    record = RunRecord.from_json(data)
    assert record.seed is None or type(record.seed) is int
    assert all(loss is None or isinstance(loss, float) for loss in record.loss)
    assert all(isinstance(value, float) for value in record.measures.values())
    json.dumps(record.to_json())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("interrupted", Stopped.INTERRUPTED),
        ("reached the time limit of 60 s", Stopped.TIME_LIMIT),
        ("reached 2000 iterations", Stopped.ITERATIONS),
        ("every connected pair is closer than every unconnected one", Stopped.ORDERED),
        ("a callback asked to stop", Stopped.CALLBACK),
    ],
)
def test_sentences_tell_their_ending(text, why):
    assert Ending.of_text(text) == (why, text)
    assert RunRecord(stopped=Ending.of_text(text)).unfinished == (
        why in (Stopped.INTERRUPTED, Stopped.TIME_LIMIT)
    )


def test_plain_data_is_taken_and_given(club):
    again = uh.Embedding(club.ids, club.points, club.manifold, club.run, KARATE)
    assert again.record == club.record
    again.run["seed"] = 99
    assert again.record.seed == 0, "run is a copy"
    other = club.with_record(RunRecord(seed=7))
    assert (other.run, other.delta is club.delta) == ({"seed": 7}, True)
