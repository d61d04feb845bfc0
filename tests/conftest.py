"""What the tests share: the geometries every property runs over, and what of all cases `make test`
runs.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from covering import covering

# Tests run side by side, so more threads only wait for each other. Read when torch is first
# imported, here and in what tests start; those that are about threads ask for several.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if TYPE_CHECKING:
    import torch

    from ultrahyperbolic import PseudoHyperboloid

# Modules and cases live as long as the process: looking for garbage among them takes time and finds
# none.
gc.disable()

if find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("quick", deadline=None, max_examples=25)
    settings.register_profile("thorough", deadline=None, max_examples=300)
    settings.load_profile("quick")

# A test of more cases than this runs in a covering sample of them, and all of them with `make
# test-all`. A module whose cases take long has a MOST_CASES of its own.
MOST_CASES = 4

# What compiles the loops that most rooms train with: one worker runs all of these, so that nothing
# is compiled twice.
COMPILING = ("cli/test_embed.py", "engines/", "evaluation/test_summary.py", "pairs/")
# What another worker does in the meantime: it needs none of those loops.
MEANWHILE = (
    "engines/test_triton.py",
    "geometry/",
    "graph/",
    "nn/",
    "objective/",
    "optim/",
    "test_testing.py",
)

# Checks of scikit-learn's own that take long.
LONG_CHECKS = (
    "methods_subset",
    "methods_sample_order",
    "fit_idempotent",
    "estimator_sparse_matrix",
)

HERE = Path(__file__).parent

SIGNATURES = [(4, 0), (0, 4), (1, 3), (3, 1), (2, 2)]
BETAS = [-0.25, -1.0, -4.0]


@pytest.fixture(params=SIGNATURES, ids=lambda s: f"p{s[0]}q{s[1]}")
def signature(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture(params=BETAS, ids=lambda b: f"beta{b:g}")
def manifold(request: pytest.FixtureRequest, signature: tuple[int, int]) -> PseudoHyperboloid:
    from ultrahyperbolic import PseudoHyperboloid

    return PseudoHyperboloid(*signature, request.param)


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    import torch

    return getattr(torch, request.param)


@pytest.fixture
def generator() -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(7)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Call it for a terminal in place of stderr, on which bars appear at once; pytest sets its own
    before each test.
    """
    from ultrahyperbolic import progress

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "_DELAY", 0.0)

    def place() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return place


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the backend of each pass over all pairs."""
    from ultrahyperbolic.pairs import reference

    found: list[str] = []

    def count(room: object, backend: str) -> None:
        original = room.reduce_rows
        monkeypatch.setattr(
            room, "reduce_rows", lambda *arguments: found.append(backend) or original(*arguments)
        )

    count(reference, "reference")
    if find_spec("numba") is not None:
        from ultrahyperbolic.pairs.numba import reducers

        count(reducers, "numba")
    return found


@pytest.fixture
def listening():
    """Ctrl-C as in a terminal: tests may be run where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection() -> None:
    """Before tests are collected. A process that only hands them out does not come here, and needs
    no torch.
    """
    import torch

    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # read when triton is first imported


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests of the benchmarks to `make test-all`: they train, and importing them takes
    seconds.
    """
    return (
        True
        if collection_path == HERE / "benchmarks" and config.option.markexpr == "not slow"
        else None
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what takes long to `make test-all`: most of a large product, and long checks of
    scikit-learn's.

    What is `COMPILING` is moved to the front, and what goes on in the `MEANWHILE` comes next.

    Of a test of many cases, those stay in which every pair of its parameters' values meets. Where
    even these are many, as of two parameters, which meet in all cases, those stay in which every
    value occurs.
    """
    products = defaultdict(list)
    for item in items:
        if any(f"-check_{name}" in item.name for name in LONG_CHECKS):
            item.add_marker(pytest.mark.slow)
        if hasattr(item, "callspec") and item.get_closest_marker("slow") is None:
            products[item.parent, item.originalname].append(item)
    for cases in products.values():
        most = getattr(cases[0].module, "MOST_CASES", MOST_CASES)
        if len(cases) <= most:
            continue
        values = [
            [id(value) for _, value in sorted(item.callspec.params.items())] for item in cases
        ]
        sample = covering(values)
        if len(sample) > most:
            sample = covering(values, strength=1)
        for k in set(range(len(cases))) - set(sample):
            cases[k].add_marker(pytest.mark.slow)
    items.sort(key=lambda item: turn_of(str(item.path.relative_to(HERE))))


def turn_of(file: str) -> int:
    """0 for a file of tests that compiles, 1 for one that runs in the meantime, 2 for all
    others.
    """
    if file == "engines/test_distributed.py":  # whose processes run what is compiled
        return 2
    return 1 if file.startswith(MEANWHILE) else 0 if file.startswith(COMPILING) else 2


@pytest.hookimpl(optionalhook=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


atexit.register(gc.unfreeze)  # else extension modules complain of what is left


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files of tests stay whole, and all that compile stay together."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "what compiles" if turn_of(file.removeprefix("tests/")) == 0 else file

    return Scheduling(config, log)
