"""Ten tasks that a newcomer would try, as data: ``docs/ten-tasks.md`` shows them, ``benchmarks/start.py`` times them.

Tasks run in this order in one folder, in which ``FILES`` lie.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Task(NamedTuple):
    """What someone wants, and the words of the command that does it."""

    name: str
    words: str


FILES = {
    "calls.csv": "who,whom,calls\nann,bob,12\nbob,cid,3\ncid,dan,7\ndan,ann,1\nbob,ann,2\neve,bob,4\neve,cid,2\n",
    "flights.csv": "ARN,CPH,30\nARN,OSL,25\nCPH,OSL,28\nCPH,AMS,40\nAMS,OSL,12\nAMS,LIS,9\nCPH,LIS,3\n",
    "airports.csv": "id,label\nARN,Stockholm\nCPH,Copenhagen\nOSL,Oslo\nAMS,Amsterdam\nLIS,Lisbon\n",
}
TASKS = (
    Task("Embed a graph and see who is central", "embed lesmis -o lesmis"),
    Task("List the top of the ranking", "rank lesmis --top 5"),
    Task("Find the nodes nearest to a node", "neighbors lesmis Valjean -k 5"),
    Task("Check how far to trust it", "evaluate lesmis"),
    Task("Embed your own table of ties", "embed calls.csv --weight calls -o calls"),
    Task("Find communities", "cluster lesmis"),
    Task("Give nodes readable names", "embed flights.csv --nodes airports.csv -o flights"),
    Task("See how sure each rank is", "embed karate --goal hierarchy --seeds 20 -o karate"),
    Task("Find ties that may be missing", "suggest lesmis -k 5"),
    Task("Open the result in Gephi", "export lesmis --format gexf -o lesmis.gexf"),
)


class Times(NamedTuple):
    """Seconds of a task as a process of its own."""

    task: Task
    cold: float
    """With nothing compiled yet."""
    warm: float
    """After that, with what was compiled on disk."""


def timings(folder: Path) -> Iterator[Times]:
    """Every task in turn, in an empty folder: cold, and then again, the output of the first replaced."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    for number, task in enumerate(TASKS):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / f"cache{number}")}
        words = [sys.executable, "-m", "ultrahyperbolic", *shlex.split(task.words)]
        again = ["--overwrite"] if task.words.startswith(("embed", "export")) else []
        seconds = []
        for command in (words, words + again):
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        yield Times(task, *seconds)


def table(times: list[Times]) -> str:
    """The times as the page shows them."""
    rows = [f"| {number}. {t.task.name} | {t.cold:.1f} | {t.warm:.1f} |\n" for number, t in enumerate(times, start=1)]
    return "| task | cold | warm |\n|---|---|---|\n" + "".join(rows)


def write(page: Path, times: list[Times]) -> None:
    """Put the table between the marks of the page."""
    text = page.read_text(encoding="utf-8")
    marks = re.compile(r"(<!-- times: .*? -->\n).*?(<!-- end of times -->)", re.S)
    page.write_text(marks.sub(lambda found: found[1] + table(times) + found[2], text), encoding="utf-8")
