"""Which device and which engine: what is not there is refused before anything is computed."""

from __future__ import annotations

import pytest
import torch
from machines import WITHOUT_CUDA, WITHOUT_MPS

import ultrahyperbolic as uh
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.registry import find_device

KARATE = uh.datasets.karate()
WRONG = [
    ("nonsense", "device nonsense: torch knows none of that name: use cpu, cuda or cuda:1"),
    ("", "device : torch knows none of that name"),
    ("meta", "device meta: nothing is computed there: use cpu or cuda"),
    pytest.param("mps", "device mps: torch finds none here", marks=WITHOUT_MPS),
    pytest.param("cuda", "device cuda: torch finds no CUDA device here: use cpu, or leave it out", marks=WITHOUT_CUDA),
    pytest.param("cuda:7", "device cuda:7: torch finds no CUDA device here", marks=WITHOUT_CUDA),
]  # fmt: skip


@pytest.fixture
def no_training(monkeypatch):
    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))


@pytest.mark.parametrize(("device", "words"), WRONG)
def test_devices_that_are_not_there_are_refused(no_training, device, words):
    for call in (
        lambda: uh.embed(KARATE, iterations=5, quiet=True, device=device),
        lambda: uh.embed(KARATE, dim=2, iterations=5, quiet=True, device=device),
        lambda: uh.select_signature(KARATE, dim=2, iterations=5, quiet=True, device=device),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_a_device_beyond_the_last_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device cuda:7: the last CUDA device here is cuda:1"):
        find_device("cuda:7")


def test_devices_that_are_there_are_found():
    assert find_device("cpu") == torch.device("cpu") == find_device(torch.device("cpu"))
    if torch.cuda.is_available():
        assert find_device("cuda:0") == torch.device("cuda:0")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"threads": 0}, ValueError, "threads must be at least 1, got 0"),
        ({"threads": 1.5}, TypeError, "threads must be an integer, got 1.5"),
        ({"backend": "gpu"}, ValueError, "backend must be one of"),
        ({"precision": "float16"}, ValueError, "precision must be one of"),
        ({"precision": "float32", "backend": "reference"}, ValueError, "precision 'float32' is of the backends numba"),
        ({"backend": "numba", "device": "meta"}, ValueError, "device meta: nothing is computed there"),
        ({"beta": 1.0}, ValueError, "beta must be finite and negative, got 1.0"),
        ({"seed": -1}, ValueError, "seed must be a non-negative integer below 2**63, got -1"),
        ({"iterations": 0}, ValueError, "iterations must be at least 1, got 0"),
        ({"dim": 0}, ValueError, "dim must be at least 1, got 0"),
        ({"dim": 2.5}, TypeError, "dim must be an integer, got 2.5"),
    ],
)
def test_wrong_options_are_told_before_any_training(no_training, options, error, words):
    for call in (uh.select_signature, uh.embed):
        with pytest.raises(error) as caught:
            call(KARATE, **{"dim": 2, "iterations": 8, **options}, quiet=True)
        assert words in str(caught.value)
