"""The fuzzer itself, for a moment here and for a minute by ``make test-all``."""

from __future__ import annotations

import pytest
from fuzz.readers import NAMES, corpus, fuzz, make_input
from machines import ON_LINUX

pytestmark = ON_LINUX

BAD = ("tracebacks", "messages_too_long", "crashes", "hangs", "over_memory", "failures")


def run(seed, inputs, seconds):
    figures, failures = fuzz(seed, inputs, seconds)
    assert failures == []
    assert {key: figures[key] for key in BAD} == dict.fromkeys(BAD, 0)
    return figures


@pytest.mark.slow
def test_some_inputs():
    figures = run(1, 150, 240.0)
    assert figures["inputs"] == figures["graphs"] + figures["refused"] == 150
    assert figures["graphs"] > 5
    assert 50 < figures["peak_mib"] < 1024


@pytest.mark.slow
def test_a_minute_of_inputs():
    assert run(2, 10**9, 60.0)["inputs"] > 500


def test_inputs_are_made_by_their_number():
    files = corpus()
    made = [make_input(3, number, files) for number in range(300)]
    assert made == [make_input(3, number, files) for number in range(300)]
    assert len({data for data, *_ in made}) > 250
    assert {name for _, name, *_ in made} == set(NAMES)
    assert max(len(data) for data, *_ in made) <= 1 << 20


@pytest.mark.slow
def test_failures_are_seen(monkeypatch, tmp_path):
    """A reader that ends the process, and one that raises what it should not."""
    (tmp_path / "sitecustomize.py").write_text(
        "import ultrahyperbolic.graph.dialect as readers\n"
        "sniff = readers.sniff\n"
        "def broken(path, **options):\n"
        "    import os\n"
        "    if os.path.getsize(path) % 9 == 1:\n"
        "        os.abort()\n"
        "    if os.path.getsize(path) % 3 == 2:\n"
        "        raise KeyError(path)\n"
        "    return sniff(path, **options)\n"
        "readers.sniff = broken\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    figures, failures = fuzz(1, 40, 240.0)
    assert figures["tracebacks"] > 0
    assert figures["crashes"] > 0
    assert figures["inputs"] == 40
    assert len(failures) == figures["failures"] >= 2
