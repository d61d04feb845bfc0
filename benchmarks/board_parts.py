"""The board's other questions to the method: the club's leaders, NIPS, longer trainings, depth, ranks, and oddities."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from board_figures import KEYS, MEASURES, Cells, Figures, Value, mean
from board_graphs import LEADERS, Loaded, Shelf
from board_train import How, Job, Trained, about, figures_of, measure, run, train
from graphs import ADVERSARIAL, Floats, Ints, spearman

from ultrahyperbolic import datasets, embed
from ultrahyperbolic.evaluation import closeness, leader_ranks
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.where import DEFAULT


def leaders() -> list[int]:
    """The positions of the club's two leaders."""
    ids = list(datasets.karate().ids)
    return [ids.index(node) for node in LEADERS]


def deltas(loaded: Loaded, trainings: Sequence[Trained], how: How) -> list[Floats]:
    """δ of each training."""
    return [measure(loaded.graph, t.job.geometry, t.points, how.place).delta for t in trainings]


def karate(shelf: Shelf, seeds: int, how: How) -> Figures:
    """How often a bare ``embed`` ranks both leaders of the club first, and how it fits."""
    loaded = shelf.load("karate")
    trainings = train(loaded, [Job(DEFAULT, seed) for seed in range(seeds)], "new", how)
    rows = [figures_of(loaded.graph, each, how.place) for each in trainings]
    first = [leader_ranks(delta, leaders()).tolist() == [1, 2] for delta in deltas(loaded, trainings, how)]
    found: Figures = {"karate:geometry": DEFAULT.name, "karate:seeds": seeds, "karate:leaders_first": mean(first)}
    for what in MEASURES:
        values = [row[what] for row in rows]
        found[f"karate:{what}"] = mean(float(v) for v in values if isinstance(v, float))
    print(f"karate, {DEFAULT.name}: both leaders first in {sum(first)} of {seeds}; {said(found, 'karate:')}")
    return found


def nips(shelf: Shelf, seeds: int, how: How) -> Figures:
    """NIPS by its signature alone, beside what the paper has."""
    from ultrahyperbolic.paper.coauthors import ROWS, TABLE2, TABLE3

    geometries = [KEYS[key] for key in ("Q2_2", "Q3_3", "Q3_1", "Q1_3")]
    cells = Cells(run(shelf, ["nips"], geometries, seeds, ["new"], how, None))
    found: Figures = {"nips:seeds": seeds}
    for geometry in geometries:
        key = geometry.file_name
        stem = f"nips:{key}"
        found |= {f"{stem}/{what}": cells.value("nips", key, "new", what) for what in (*MEASURES, "seconds")}
        published = (TABLE2.published | TABLE3.published)[key]
        found[f"{stem}/published_recall_at_1"] = published[ROWS.index("recall_at_1")] / 100
        found[f"{stem}/published_spearman_all"] = published[ROWS.index("rho_all")]
        print(
            f"{geometry.name}: {said(found, f'{stem}/')}; the paper has Recall@1 "
            f"{found[f'{stem}/published_recall_at_1']:.3f} and ρ {found[f'{stem}/published_spearman_all']:.3f}"
        )
    return found


def longer(
    shelf: Shelf, names: Sequence[str], geometries: Sequence[Geometry], seeds: int, how: How, runs: Mapping[str, Value]
) -> Figures:
    """2N iterations against N; where N is not given, it is the median at convergence, from ``runs`` or trained here."""
    n = how.iterations
    if n is None:
        kept = runs or run(shelf, names, geometries, seeds, ["new"], how, None)
        counts = [v for key, v in kept.items() if "/new/" in key and key.endswith("/iterations") and isinstance(v, int)]
        n = round(float(np.median(counts)))
    found: Figures = {"longer:iterations": n}
    lengths = {times: replace(how, iterations=times * n, stop="iterations") for times in (1, 2)}
    cells = {t: Cells(run(shelf, names, geometries, seeds, ["new"], each, None)) for t, each in lengths.items()}
    for geometry in geometries:
        key = geometry.file_name
        for what in MEASURES:
            one, two = (cells[t].several(names, key, ["new"], what)["new"] for t in (1, 2))
            found |= {f"longer:{key}/{what}/one": one, f"longer:{key}/{what}/two": two}
            if not math.isnan(two - one):
                found[f"longer:{key}/{what}/difference"] = two - one
        changes = ", ".join(
            f"{word} {found.get(f'longer:{key}/{what}/difference', math.nan):+.4f}" for what, word in MEASURES.items()
        )
        print(f"{geometry.name}: {2 * n} iterations against {n}: {changes}", flush=True)
    return found


def depth(shelf: Shelf, names: Sequence[str], geometries: Sequence[Geometry], seeds: int, how: How) -> Figures:
    """Whether δ follows the depth below the root, which nothing was trained on; degree and closeness beside it."""
    found: Figures = {}
    for name in names:
        loaded = shelf.load(name)
        found |= about(loaded)
        jobs = [Job(geometry, seed) for geometry in geometries for seed in range(seeds)]
        trainings = train(loaded, jobs, "new", how)
        sums = deltas(loaded, trainings, how)
        stem = f"depth:{name}"
        found[f"{stem}/degree"] = central(loaded, loaded.graph.degree.astype(np.float64))
        found[f"{stem}/strength"] = central(loaded, loaded.graph.strength)
        found[f"{stem}/closeness"] = central(loaded, closeness(loaded.graph))
        others = ", ".join(f"{other} {found[f'{stem}/{other}']:.3f}" for other in ("degree", "strength", "closeness"))
        print(f"{name}: {others}")
        for geometry in geometries:
            mine = [delta for job, delta in zip(jobs, sums, strict=True) if job.geometry == geometry]
            key = f"{stem}/{geometry.file_name}"
            found[f"{key}/depth"] = mean(central(loaded, -delta) for delta in mine)
            found[f"{key}/spearman_all"] = mean(spearman(loaded.graph.strength, -delta) for delta in mine)
            told = f"with depth {found[f'{key}/depth']:.3f}, with strength {found[f'{key}/spearman_all']:.3f}"
            print(f"  {geometry.name}: {told}", flush=True)
    return found


def central(loaded: Loaded, score: Floats) -> float:
    """How well a score that is high for central nodes says what is known: ρ with minus depth, from -1 to 1.

    Of the club, whose leaders are known and no depth, the share of the other members that are below a leader.
    """
    if loaded.name == "karate":
        others = np.delete(score, leaders())
        return mean(float((others < score[leader]).mean()) for leader in leaders())
    if loaded.depth is None:
        raise SystemExit(f"the depth of the nodes of {loaded.name} is not known")
    known = loaded.depth >= 0
    return spearman(score[known], -loaded.depth[known])


class Intervals(NamedTuple):
    """Ranks that a node may have."""

    low: Ints
    high: Ints


def ranks_of(delta: Floats) -> Ints:
    """[n] from 1, the smallest δ first."""
    found = np.empty(len(delta), dtype=np.int64)
    found[np.argsort(delta, kind="stable")] = np.arange(1, len(delta) + 1)
    return found


def intervals(loaded: Loaded, seeds: int, how: How) -> tuple[Intervals, bool]:
    """The intervals that ``embed(seeds=)`` gives, or where it gives none those of so many trainings; whether the first.

    Of 20 values and one more of the same kind, that one lies between the least and the largest in 19 of 21 cases.
    """
    if "seeds" in inspect.signature(embed).parameters:
        words: dict[str, Any] = {"seeds": seeds, "iterations": how.iterations}
        place = how.place
        result: Any = embed(loaded.graph, device=place.device, threads=place.threads, quiet=True, **words)
        low, high = (np.asarray(getattr(result.rank_intervals, end)) for end in ("low", "high"))
        return Intervals(low, high), True
    trainings = train(loaded, [Job(DEFAULT, seed) for seed in range(seeds)], "new", how)
    ranks = np.stack([ranks_of(delta) for delta in deltas(loaded, trainings, how)])
    return Intervals(ranks.min(0), ranks.max(0)), False


def ranks(shelf: Shelf, names: Sequence[str], seeds: int, further: int, how: How) -> Figures:
    """How often the rank of a node, trained from other seeds, lies in the interval that some seeds gave it."""
    found: Figures = {"ranks:seeds": seeds, "ranks:further": further}
    for name in names:
        loaded = shelf.load(name)
        (low, high), theirs = intervals(loaded, seeds, how)
        trainings = train(loaded, [Job(DEFAULT, seeds + seed) for seed in range(further)], "new", how)
        seen = np.stack([ranks_of(delta) for delta in deltas(loaded, trainings, how)])
        varies = (seen.min(0) < seen.max(0)) | (low < high)
        inside = ((seen >= low) & (seen <= high))[:, varies]
        found |= {
            f"ranks:{name}/inside": float(inside.mean()) if varies.any() else 1.0,
            f"ranks:{name}/varying": int(varies.sum()),
            f"ranks:{name}/median_width": float(np.median((high - low)[varies])) if varies.any() else 0.0,
            f"ranks:{name}/by_embed": int(theirs),
        }
        source = "embed's intervals" if theirs else "least to largest, as embed gives no intervals"
        print(
            f"{name}: inside in {100 * float(found[f'ranks:{name}/inside'] or 0):.1f} % over {varies.sum()} nodes of "
            f"{len(low)}, median width {found[f'ranks:{name}/median_width']} ({source})", flush=True,
        )  # fmt: skip
    return found


def adversarial(names: Sequence[str], geometries: Sequence[Geometry], seeds: int, how: How) -> Figures:
    """Graphs made to break things: nothing may be NaN, and nothing worse than where it started."""
    found: dict[str, int] = {"runs": 0, "failures": 0, "starts_returned": 0}
    for name in names or ADVERSARIAL:
        if name not in ADVERSARIAL:
            raise SystemExit(f"no graph is called {name}: there are {', '.join(ADVERSARIAL)}")
        loaded = Loaded(name, "apart", ADVERSARIAL[name]().graph(name), None)
        began = time.perf_counter()
        jobs = [Job(geometry, seed) for geometry in geometries for seed in range(seeds)]
        for each in train(loaded, jobs, "new", how):
            fine = each.is_finite and each.final <= each.start
            found["runs"] += 1
            found["failures"] += not fine
            found["starts_returned"] += each.returned_start
            if not fine:
                print(f"  FAILED {name}, {each.job.geometry.name}, seed {each.job.seed}: {each.start} -> {each.final}")
        print(f"{name}: {loaded.graph.n_nodes} nodes, {time.perf_counter() - began:.1f} s", flush=True)
    print(", ".join(f"{word.replace('_', ' ')}: {count}" for word, count in found.items()))
    return {f"adversarial:{word}": count for word, count in found.items()}


def said(figures: Mapping[str, Value], stem: str) -> str:
    """The four measures of a stem."""
    return ", ".join(f"{word} {figures[f'{stem}{what}']:.3f}" for what, word in MEASURES.items())
