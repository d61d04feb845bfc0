"""From nothing to an embedding: ``ultrahyperbolic embed karate`` with an empty cache of compiled loops, then again.

    python benchmarks/start.py --json out/start.json

Each is a process of its own, imports and compilation included. The second finds what the first compiled on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ultrahyperbolic", "embed", "karate", "-o", f"{folder}/karate"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache"}
        times = []
        for _ in range(2):
            start = time.perf_counter()
            subprocess.run([*command, "--overwrite", "--quiet"], env=environment, check=True)
            times.append(time.perf_counter() - start)
    figures = {"cold_seconds": times[0], "warm_seconds": times[1], "warm_over_cold": times[1] / times[0]}
    for key, value in figures.items():
        print(f"  {key:16s} {value:8.3f}" + ("  (at most 0.333)" if key == "warm_over_cold" else ""))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
