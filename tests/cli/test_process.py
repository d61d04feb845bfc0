"""The command as a process: exit codes, signals, pipes."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from ultrahyperbolic import __version__
from ultrahyperbolic.cli import app
from ultrahyperbolic.cli.signals import cut_short, on_interrupt
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.training.checkpoint import CHECKPOINT, read_checkpoint

COMMAND = (sys.executable, "-m", "ultrahyperbolic")

# Says when the training has come to its n-th chunk of iterations, and how long that chunk takes at
# least.
DRIVER = """
import sys, time
from pathlib import Path
from ultrahyperbolic.engines.numba.engine import NumbaEngine
advance, chunks, wanted, pause = NumbaEngine.advance, 0, int(sys.argv.pop(1)), float(sys.argv.pop(1))
def advance_and_tell(self, state, iterations):
    global chunks
    chunks += 1
    if chunks == wanted:
        Path("training").touch()
        time.sleep(pause)
    return advance(self, state, iterations)
NumbaEngine.advance = advance_and_tell
from ultrahyperbolic.cli import main
main()
"""


def run(*words: object, folder: Path, **options) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, **options
    )


def drawn_at(
    *words: object, folder: Path, cache: Path | None = None
) -> tuple[int, list[float], str]:
    """The exit code, the seconds after the start at which a terminal was written to, and what it
    showed.
    """
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    environment |= {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    began, times, shown = time.monotonic(), [], b""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    try:
        while block := os.read(ours, 1 << 16):
            shown += block
            times.append(time.monotonic() - began)
    except OSError:  # on Linux, the end
        pass
    os.close(ours)
    code = process.wait(timeout=60)
    return code, [*times, time.monotonic() - began], shown.decode()


@pytest.mark.slow
@pytest.mark.parametrize("cold", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_progress_does_not_stand_still_and_its_clock_is_the_users(tmp_path, cold):
    # Imports, compilation where nothing is compiled yet, training and measuring all take their
    # time.
    words = ("embed", "karate", "-o", "club", "--iterations", 1_000_000, "--time-limit", 12)
    code, times, shown = drawn_at(
        *words, folder=tmp_path, cache=tmp_path / "cache" if cold else None
    )
    assert code == 0, shown
    gaps = [later - sooner for sooner, later in itertools.pairwise([0.0, *times])]
    assert sum(gap > 1.0 for gap in gaps) <= 1, gaps  # none on a machine that does nothing else
    clocks = [
        int(h) * 3600 + int(m) * 60 + int(s)
        for h, m, s in re.findall(r" (\d):(\d\d):(\d\d)\r", shown)
    ]
    assert clocks == sorted(clocks)
    assert abs(clocks[-1] - times[-1]) < 3.0
    assert "embedding karate" in shown
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
    left = r"training ━+.* +\d+/1000000 loss \d+(\.\d+)?(e-\d+)?, \d+:\d\d:\d\d left"
    assert re.search(left, plain)


def stop(
    folder: Path, *words: object, how: signal.Signals, chunk: int, pause: float
) -> tuple[int, str, str]:
    """Send a signal when the training is in a chunk; the exit code and the output."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(chunk), str(pause), *map(str, words)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests may be run where Ctrl-C is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 100
    while not (folder / "training").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert json.loads((folder / "club" / "run.json").read_text())["stopped"] is None
    assert not (folder / "club" / "embedding.parquet").exists()
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "a polite kill"]
)
def test_a_training_that_is_stopped_saves_the_best_so_far(tmp_path, how, code):
    words = ("embed", "karate", "-o", "club", "--iterations", 2_000_000)
    found, out, err = stop(tmp_path, *words, how=how, chunk=5, pause=0)
    assert found == code
    club = tmp_path / "club"
    run = json.loads((club / "run.json").read_text())
    assert run["stopped"] == "interrupted"
    assert 0 < run["iterations"] < 2_000_000
    assert "recall_at_1" in run["measures"]
    again = "to continue: ultrahyperbolic embed --resume club"
    after = f"after {run['iterations']}"
    *_, said = err.splitlines()
    assert said == (f"interrupted {after} iterations: the best points so far are in club; {again}")
    assert out.splitlines()[0] == (
        f"unfinished: interrupted {after} of 2000000 iterations; {again}"
    )
    assert "the most central nodes:" in out
    assert len(Embedding.load(club)) == 34
    # The checkpoint is of the very end, and nothing else lies about.
    assert read_checkpoint(club)[0].state.iteration == run["iterations"]
    names = [CHECKPOINT, "embedding.parquet", "report.html", "run.json"]
    assert sorted(path.name for path in club.iterdir()) == names


@pytest.mark.slow
def test_ctrl_c_before_the_first_iterations_saves_nothing(tmp_path):
    words = ("embed", "karate", "-o", "club")
    found = stop(tmp_path, *words, how=signal.SIGINT, chunk=1, pause=60)
    said = "interrupted before there was anything to keep: no embedding is saved\n"
    assert found == (130, "", said)
    assert not (tmp_path / "club" / "embedding.parquet").exists()


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "select karate --dim 2",
            "note: karate: directions dropped, asymmetric pairs summed: 7; directed=True "
            "(--directed) keeps them\ninterrupted: nothing is chosen\n",
        ),
        (
            "embed karate --dim 2 -o club",
            "interrupted while the signature was chosen: no embedding is saved\n",
        ),
    ],
)
def test_ctrl_c_ends_the_choice_of_a_geometry(call, monkeypatch, words, said):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    advance, called = NumbaEngine.advance, []

    def pressed(self, state, iterations):
        called.append(iterations)
        os.kill(os.getpid(), signal.SIGINT)
        return advance(self, state, iterations)

    monkeypatch.setattr(NumbaEngine, "advance", pressed)
    result = call(words)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", said)
    assert len(called) == 1
    assert not Path("club/embedding.parquet").exists()


def test_ctrl_c_while_measuring_keeps_the_points(call, monkeypatch):
    from ultrahyperbolic.training import train as room

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(room, "over_nodes", interrupted)
        result = call("embed karate -o club --iterations 60")
    assert result.exit_code == 130
    going_on = (
        "the best points so far are in club; to continue: ultrahyperbolic embed --resume club"
    )
    assert result.stderr == f"interrupted in measuring: {going_on}\n"
    run = json.loads(Path("club/run.json").read_text())
    assert run["stopped"] == "reached 60 iterations"
    assert {"map", "spearman_all"} <= set(run["measures"])
    assert "spearman_all_norm" not in run["measures"]
    points = Embedding.load("club").points
    # It does go on, with what was left out.
    assert call("embed --resume club").exit_code == 0
    assert "spearman_all_norm" in json.loads(Path("club/run.json").read_text())["measures"]
    assert np.array_equal(Embedding.load("club").points, points)
    assert sorted(path.name for path in Path("club").iterdir()) == [
        "embedding.parquet",
        "report.html",
        "run.json",
    ]


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    "becomes", [None, ValueError("in nopython mode pipeline"), KeyboardInterrupt()]
)
def test_ctrl_c_is_seen_whatever_a_compiler_makes_of_it(becomes):
    def work():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            if becomes is not None:
                raise becomes from None

    assert cut_short(work)[1]
    assert cut_short(lambda: "done") == ("done", 0)
    with pytest.raises(ZeroDivisionError):
        cut_short(lambda: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_stays_ignored_where_it_is():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with on_interrupt(lambda: pytest.fail("called")):
            os.kill(os.getpid(), signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_closed_pipe_is_no_error_to_talk_about(tmp_path, club):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        command = [*COMMAND, "rank", str(club), "--all"]
        result = subprocess.run(
            command, cwd=tmp_path, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.slow
def test_a_terminal_without_unicode_is_served(tmp_path):
    (tmp_path / "ties.csv").write_text("Zoë,b,1\nb,c,2\n", encoding="utf-8")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run(
        "embed", "ties.csv", "-o", "club", "--iterations", 5, folder=tmp_path, env=ascii_only
    )
    assert result.returncode == 0, result.stderr
    assert r"Zo\xeb" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "code"), [("--help", 0), ("embed --help", 0), ("--version", 0), ("embed --bad", 2)]
)
def test_help_and_mistakes_do_not_wait_for_libraries(words, code):
    heavy = "torch numpy pandas scipy numba pyarrow matplotlib networkx sklearn"
    program = (
        f"import sys; sys.argv = ['ultrahyperbolic', *{words.split()!r}]\nfrom ultrahyperbolic.cli "
        "import main\ntry:\n    main()\nexcept SystemExit as leaving:\n    assert leaving.code == "
        f"{code}\nprint([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_version(call):
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"ultrahyperbolic {__version__}\n")


@pytest.mark.parametrize("command", ["", "embed", "rank", "evaluate", "reproduce"])
def test_help_has_examples_and_says_what_weights_mean(call, command):
    result = call(f"{command} --help")
    assert result.exit_code == 0
    assert result.stderr == ""
    text = " ".join(result.stdout.split())
    assert "Examples:" in text
    assert f"  ultrahyperbolic {command}" in result.stdout
    assert "tie" in text
    assert re.search(r"docs/(graphs|measures)\.md", text)


def test_help_says_defaults_and_no_types_of_python(call):
    text = " ".join(call("embed --help-all").stdout.split())
    for default in ("smoothed", "converged", "1", "0", "out/NAME OF THE GRAPH", "10", "utf-8"):
        assert f"Default: {default}." in text
    assert "<bool>" not in text
    assert "<int" not in text


def test_help_fits_a_usual_terminal_and_cuts_no_name(call):
    text = call("embed --help-all").stdout
    assert "--weights-are-distances" in text.split()
    assert max(map(len, text.partition("Examples:")[0].splitlines())) <= 80


@pytest.mark.parametrize("command", sorted(get_command(app).commands))
def test_help_is_short_and_help_all_has_every_option(call, command):
    short, whole = (call(f"{command} {option}").stdout for option in ("--help", "--help-all"))
    shown, known = (
        set(re.findall(r"^  (?:-., )?(--[a-z-]+)", text, re.M)) for text in (short, whole)
    )
    assert {"--help-all", "--help"} <= shown <= known
    assert len(shown) <= 16
    options = {
        next((name for name in each.opts if name.startswith("--")), "--help")
        for each in get_command(app).commands[command].params
    }
    assert options - known <= {"--goal"}, "of earlier versions"
