"""The commit before this method: its source, and its trainings, which a process of its own does.

:func:`work` runs with that source and none of ours: it may import nothing of this folder.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

COMMIT = "a7b73a7"


def unpack(folder: Path) -> None:
    """Put the source of the commit into a folder."""
    root = Path(__file__).parents[1]
    made = subprocess.run(["git", "archive", COMMIT, "src"], cwd=root, capture_output=True, check=False)
    if made.returncode:
        raise SystemExit(f"git has no commit {COMMIT}: {made.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")


def environment(folder: Path) -> dict[str, str]:
    """That of a process whose package is the one in ``src`` of a folder."""
    source = folder.resolve() / "src"
    if not (source / "ultrahyperbolic").is_dir():
        raise SystemExit(f"{folder} has no src/ultrahyperbolic: make it with board.py before FOLDER")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(Path(__file__).parent)))}


def train(source: Path, arrays: dict[str, Any], jobs: Sequence[dict[str, Any]], place: dict[str, Any]) -> list[Any]:
    """What the package of a folder trains by default: points [n, d] and a dictionary of each job."""
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder, "request.npz"), Path(folder, "answer.npz")
        said = json.dumps({"jobs": jobs, "place": place})
        np.savez(request, said=np.array(said), **{name: a for name, a in arrays.items() if a is not None})
        code = "import board_before, sys; board_before.work(*sys.argv[1:])"
        command = [sys.executable, "-c", code, str(request), str(answer)]
        subprocess.run(command, env=environment(source), check=True)
        with np.load(answer) as found:
            told = json.loads(str(found["told"]))
            return [(found[f"points{k}"], each) for k, each in enumerate(told)]


def work(request: str, answer: str) -> None:
    """Train what was asked, as the package of this process does by default, and write it down."""
    import torch

    from ultrahyperbolic.engines.base import Place
    from ultrahyperbolic.evaluation import violated_orders
    from ultrahyperbolic.geometry import Geometry
    from ultrahyperbolic.graph import Graph
    from ultrahyperbolic.training.plan import Plan, Wishes, configure
    from ultrahyperbolic.training.train import embed_many

    choose = import_module("ultrahyperbolic.training.defaults").choose  # which is no more
    with np.load(request) as data:
        asked = json.loads(str(data["said"]))
        weights = data.get("weights")
        first, second = data["edges"].T
        graph = Graph.from_arrays(first, second, weights, ids=int(data["n"]))
    place = Place(asked["place"]["device"], threads=asked["place"]["threads"])
    plans = [
        Plan(Geometry(*job["geometry"]), Wishes(iterations=job["iterations"]), seed=job["seed"])
        for job in asked["jobs"]
    ]
    groups = [configure(plan, graph) for plan in plans]
    kinds = {group[0].geometry: replace(group[0], iterations=20) for group in groups}
    _together(embed_many, graph, list(kinds.values()), place)  # which compiles, untimed
    began = time.perf_counter()
    found = _together(embed_many, graph, [config for group in groups for config in group], place)
    points: dict[str, Any] = {}
    told: list[dict[str, Any]] = []
    for group in groups:
        mine, found = found[: len(group)], found[len(group) :]
        shares = []
        for embedding in mine if len(mine) > 1 else []:
            tensor = torch.from_numpy(embedding.points.copy()).to(place.torch_device)
            shares.append(violated_orders(graph, tensor, embedding.manifold.to(place.torch_device)).all_classes)
        kept = mine[choose(group, shares) if shares else 0]
        points[f"points{len(told)}"] = kept.points
        result = kept.record.result
        told.append({"start": result.start_loss, "final": result.final_loss, "iterations": result.iterations})
    seconds = (time.perf_counter() - began) / len(groups)
    np.savez(answer, told=np.array(json.dumps([{**each, "seconds": seconds} for each in told])), **points)


def _together(embed_many: Any, graph: Any, configs: Sequence[Any], place: Any) -> list[Any]:
    """One batch, or where the memory does not suffice two of half the size."""
    try:
        return list(embed_many(graph, configs, place, measures=False))
    except MemoryError:
        if len(configs) == 1:
            raise
        half = len(configs) // 2
        some = (_together(embed_many, graph, part, place) for part in (configs[:half], configs[half:]))
        return [embedding for part in some for embedding in part]
