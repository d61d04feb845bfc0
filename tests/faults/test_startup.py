"""Ctrl-C while the command starts, imports and compiles: one line and exit code 130, whenever it
comes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

# Counts what Python does that can be listened to, which is the same every time, and presses Ctrl-C
# at one of them.
DRIVER = """
import os, signal, sys
moment, events = int(sys.argv.pop(1)), 0
def count(event, arguments):
    global events
    events += 1
    if events == moment:
        os.kill(os.getpid(), signal.SIGINT)
from ultrahyperbolic.cli import main, signals
sys.addaudithook(count)
main()
"""
TRAIN = ("embed", "karate", "-o", "club", "--overwrite", "--time-limit", "600")
TRAIN += ("--iterations", "1000000", "--stop", "iterations")


def start(folder, *words, **environment):
    return subprocess.Popen(
        [sys.executable, *words, *TRAIN],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        # Tests may be run where Ctrl-C is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def check_answer(process):
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert err.startswith("interrupted"), err
    assert len(err.splitlines()) == 1, err
    return out


@pytest.mark.parametrize(
    "moment",
    [300, 12_000, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (1, 4_000, 24_000))],
)
def test_ctrl_c_while_it_starts(tmp_path, moment):
    assert check_answer(start(tmp_path, "-c", DRIVER, str(moment))) == ""


@pytest.mark.slow
def test_ctrl_c_while_it_compiles(tmp_path):
    for moment in range(25_000, 100_000, 15_000):
        process = start(
            tmp_path, "-c", DRIVER, str(moment), NUMBA_CACHE_DIR=str(tmp_path / str(moment))
        )
        assert check_answer(process) == ""


@pytest.mark.slow
def test_ctrl_c_from_outside(tmp_path):
    program = "from ultrahyperbolic.cli import main; open('started', 'w'); main()"
    rng = random.Random(0)
    for _ in range(45):
        (tmp_path / "started").unlink(missing_ok=True)
        process = start(tmp_path, "-c", program)
        while not (tmp_path / "started").exists():
            time.sleep(0.001)
        time.sleep(0.05 + rng.uniform(0.0, 5.0))
        process.send_signal(signal.SIGINT)
        check_answer(process)


def test_nothing_heavy_is_imported_before_ctrl_c_is_answered():
    program = (
        "import sys; before = set(sys.modules)\n"
        "from ultrahyperbolic.cli import main, signals\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    imported = set(result.stdout.split())
    assert imported <= {*sys.stdlib_module_names, "ultrahyperbolic"}
    assert not imported & {"typing", "pathlib", "dataclasses", "inspect"}
