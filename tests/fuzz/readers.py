"""Mutated files through every reader of graphs: what comes out is a graph, or one line that says
what is wrong.

    python tests/fuzz/readers.py --inputs 100000 --json out/fuzz.json

Inputs are the files of ``corpus/`` with bytes flipped, spans cut, doubled, spliced and replaced by
words that readers trip over; gzip files are mutated inside as well as outside. Each input has a
number, and seed and number make it, so any can be had again: ``--only NUMBER``. They are read in a
process of its own, under names of every format and with options. A failure is an exception other than ``GraphError``, a message of more than one
line, the death of the process, more than 10 seconds of processor time or a minute by the clock, or
a peak of more than 1 GiB of memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).with_name("corpus")
SECONDS, LONGEST_WAIT, MEMORY, LARGEST = 10.0, 60.0, 1 << 30, 1 << 20
NAMES = [
    "g",
    "g.tsv",
    "g.csv",
    "g.txt.gz",
    "g.parquet",
    "g.mtx",
    "g.graphml",
    "g.xml",
    "g.graphml.gz",
    "g.gml",
    "g.gexf",
    "g.json",
]
OPTIONS: list[dict[str, Any]] = [
    {"header": True},
    {"header": False},
    {"delimiter": ","},
    {"delimiter": "whitespace"},
    {"delimiter": "é"},
    {"weight": False},
    {"weight": 2},
    {"weight": "weight"},
    {"source": 1, "target": 0},
    {"source": "source", "target": "target"},
    {"comments": ""},
    {"encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"repeated": "error"},
    {"repeated": "max"},
    {"asymmetric": "error"},
    {"weights_are_distances": True},
]
# What readers trip over: words, lines, and bytes that are no text.
_WORDS = r"""
, ; # % ' " "" \ | PAR1 nan inf -inf 1e999 1e-999 -0 0x10 1_0 + 18446744073709551616 2147483648
-1 0 source target weight =1+1 complex skew-symmetric pattern <graphml> </graph> &a; &#0;
&#x110000; <![CDATA[ ]]> <!-- <hyperedge/> ] <gexf> {} null NaN 1,5 1990-12-31 {"nodes": é
"""
_LINES = """\
source,target,weight
%%MatrixMarket matrix coordinate real general
%%MatrixMarket matrix array real symmetric
1000000000000 1000000000000 1
99999999 99999999 99999999
3 3 999999999999
<node id='a'/>
<edge source='a' target='b'/>
<!DOCTYPE x [<!ENTITY a 'b'>]>
<?xml version='1.0'?>
<?xml version='1.0' encoding='utf-16'?>
<?xml version='1.0' encoding='latin-1'?>
<attvalue for='0' value='1'/>
graph [
node [ id 1 ]
edge [ source 1 target 2 ]
multigraph 1
"links": [
{"source": 0, "target": 1},
"""
_BYTES = (
    "00 0a 0d 0d0a 09 20 efbbbf fffe feff ff c3 eda080 f4908080 e280a8 c285 1b5b324a 1f8b08 28b52ffd "
    "ffffff7f 8080808008 ffffffff0f"
)
WORDS = [
    *(word.encode() for word in _WORDS.split()),
    *(line.encode() for line in _LINES.splitlines(keepends=True)),
    *map(bytes.fromhex, _BYTES.split()),
    *(b"", b"9" * 40, b"0" * 40 + b"1", b"<a>" * 2000, b"a [ " * 2000, b"[" * 20_000),
]


def corpus() -> list[bytes]:
    """The files that inputs are made of."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def make_input(seed: int, number: int, files: list[bytes]) -> tuple[bytes, str, dict[str, Any]]:
    """Input ``number``: its bytes, the name of its file, and the options."""
    rng = random.Random(f"{seed} {number}")
    data = rng.choice(files)
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        data = gzip.compress(mutated(gzip.decompress(data), rng, files), 1, mtime=0)
    else:
        data = mutated(data, rng, files)
        if rng.random() < 0.05:
            data = gzip.compress(data, 1, mtime=0)
    options: dict[str, Any] = {}
    while rng.random() < 0.3:
        options |= rng.choice(OPTIONS)
    if rng.random() < 0.05:
        options["nodes"] = "itself"
    return data[:LARGEST], rng.choice(NAMES), options


def mutated(data: bytes, rng: random.Random, files: list[bytes]) -> bytes:
    """The bytes after one change or several."""
    changed = bytearray(data)
    for _ in range(min(64, int(1 / (1 - rng.random())))):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice([1, 2, 4, 16, 200]))
        way = rng.randrange(9)
        if way == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif way == 1 and at < len(changed):
            changed[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif way == 2:
            del changed[at:end]
        elif way == 3:
            changed[at:at] = changed[at:end] * rng.choice([1, 2, 50])
        elif way == 4:
            changed[at:at] = rng.choice(WORDS)
        elif way == 5:
            changed[at:end] = rng.choice(WORDS)
        elif way == 6:
            other = rng.choice(files)
            start = rng.randrange(len(other) + 1)
            changed[at:end] = other[start : start + rng.choice([4, 64, 1000])]
        elif way == 7 and rng.random() < 0.3:
            del changed[at:]
        elif way == 8 and rng.random() < 0.1:
            line = bytes(changed[at:end]) or b","
            changed[at:at] = line * (rng.choice([1000, 300_000]) // len(line))
        del changed[LARGEST:]
    return bytes(changed)


def read_all(seed: int, numbers: Iterator[int]) -> None:
    """Read inputs, and print a line before and after each: what the child does."""
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    from ultrahyperbolic.graph import GraphError, read_graph, text

    files = corpus()
    for path in (CORPUS / "many.tsv", CORPUS / "pattern.mtx", CORPUS / "text.parquet"):
        read_graph(path)  # what is imported once does not count
    line = text.LINE
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            data, name, options = make_input(seed, number, files)
            path = Path(folder, name)
            path.write_bytes(data)
            if "nodes" in options:
                options["nodes"] = path
            text.LINE = 4096 if number % 4 == 0 else line  # so that blocks end anywhere
            Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is counted anew
            print(json.dumps({"begun": number}), flush=True)
            begun, wrong = time.process_time(), ""
            try:
                outcome = f"{read_graph(path, **options).n_nodes} nodes"
            except GraphError as error:
                outcome = str(error)
                wrong = "lines" if "\n" in outcome or len(outcome) > 2000 else ""
            except BaseException:
                outcome, wrong = traceback.format_exc(), "traceback"
            report = {"seconds": time.process_time() - begun, "peak": peak(), "wrong": wrong}
            print(json.dumps({"ended": number, "outcome": outcome[-3000:], **report}), flush=True)
            path.unlink()


def peak() -> int:
    """The most memory that this process held since it was last asked to forget, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def fuzz(seed: int, inputs: int, time_limit: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read so many inputs, or as many as the time allows: figures, and the failures."""
    figures: dict[str, Any] = {"seed": seed, "inputs": 0, "graphs": 0, "refused": 0}
    figures |= dict.fromkeys(
        ("tracebacks", "messages_too_long", "crashes", "hangs", "over_memory"), 0
    )
    figures |= {"slowest_seconds": 0.0, "peak_mib": 0}
    failures: list[dict[str, Any]] = []
    begun = time.monotonic()

    def fail(kind: str, report: dict[str, Any]) -> None:
        figures[kind] += 1
        failures.append({"kind": kind, **report})

    while figures["inputs"] < inputs and time.monotonic() - begun < time_limit:
        command = [
            sys.executable,
            __file__,
            "--child",
            "--seed",
            str(seed),
            "--first",
            str(figures["inputs"]),
        ]
        with subprocess.Popen([*command, "--inputs", str(inputs)], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            started = False
            while time.monotonic() - begun < time_limit:
                # The first line waits for imports.
                if not select.select([child.stdout], [], [], LONGEST_WAIT if started else 300.0)[0]:
                    fail("hangs", {"number": figures["inputs"]})
                    figures["inputs"] += 1
                    break
                line = child.stdout.readline()
                if not line:
                    if child.wait() != 0:
                        fail("crashes", {"number": figures["inputs"], "code": child.returncode})
                        figures["inputs"] += 1
                    break
                report = json.loads(line)
                if "begun" in report:
                    continue
                started = True
                figures["inputs"] = report["ended"] + 1
                figures[
                    "refused" if report["wrong"] or ": " in report["outcome"] else "graphs"
                ] += 1
                figures["slowest_seconds"] = max(
                    figures["slowest_seconds"], round(report["seconds"], 3)
                )
                figures["peak_mib"] = max(figures["peak_mib"], report["peak"] >> 20)
                if report["wrong"] == "traceback":
                    fail("tracebacks", report)
                elif report["wrong"]:
                    fail("messages_too_long", report)
                if report["seconds"] > SECONDS:
                    fail("hangs", report)
                if report["peak"] > MEMORY:
                    fail("over_memory", report)
            child.kill()
    figures["seconds"] = round(time.monotonic() - begun, 1)
    figures["failures"] = len(failures)
    return figures, failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--time-limit", type=float, default=float("inf"), help="seconds after which to stop"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--only", type=int, help="read this input alone, and say what came out")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        read_all(arguments.seed, iter(range(arguments.first, arguments.inputs)))
        return 0
    if arguments.only is not None:
        print(*make_input(arguments.seed, arguments.only, corpus()), sep="\n")
        read_all(arguments.seed, iter([arguments.only]))
        return 0
    figures, failures = fuzz(arguments.seed, arguments.inputs, arguments.time_limit)
    for failure in failures[:50]:
        print(json.dumps(failure), file=sys.stderr)
    for key, value in figures.items():
        print(f"{key:20} {value}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
