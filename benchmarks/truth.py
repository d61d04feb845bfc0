"""Is the ranking a property of the graph, and is it true? A bare `embed` on graphs whose centre is
known.

  python benchmarks/truth.py textbook    the most central node first, ρ of δ and centrality,
  agreement of runs python benchmarks/truth.py outside     ρ of centralities with a truth from
  elsewhere python benchmarks/truth.py board       the measures and the agreement between runs on
  the graphs of the board python benchmarks/truth.py directed    height, neighbours both ways and
  all ordered pairs of directed graphs python benchmarks/truth.py held-out    the direction of a
  tenth of the one-way ties, hidden: ours and SpringRank's

A run is one of three seeds on one of three orders of rows. Nodes that the graph cannot tell apart
count once. ``outside`` has planted trees, and graphs without their directions; an interval is over
bootstraps of the nodes. SpringRank is that of the weights, alpha 0.01; `undirected` is an embedding
without the directions. All ties but the hidden ones are trained on.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import bench
import networkx as nx
import numpy as np
from bench import Figures, Floats
from board_graphs import load_graph, of_half
from graphs import GENERATED, star_with_path
from scipy.stats import spearmanr

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation.directed import directed_measures
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.centrality import eigenvector, pagerank
from ultrahyperbolic.graph.flow import centrality_of
from ultrahyperbolic.graph.heights import heights, trophic_levels
from ultrahyperbolic.graph.hops import hops_from

SEEDS = ORDERS = 3


def caterpillar(spine: int, legs: int) -> nx.Graph:
    made = nx.path_graph(spine)
    made.add_edges_from((k, spine + legs * k + leg) for k in range(spine) for leg in range(legs))
    return made


TEXTBOOK: dict[str, Callable[[], nx.Graph]] = {
    **{
        f"tree_{r}_{h}": partial(nx.balanced_tree, r, h)
        for r, h in ((2, 6), (3, 4), (4, 3), (5, 3))
    },
    **{f"path_{n}": partial(nx.path_graph, n) for n in (11, 51)},
    **{f"grid_{n}": partial(nx.grid_2d_graph, n, n) for n in (5, 9)},
    "barbell": partial(nx.barbell_graph, 8, 5),
    "lollipop": partial(nx.lollipop_graph, 8, 8),
    "caterpillar": partial(caterpillar, 9, 3),
    "star_with_path": lambda: nx.Graph(star_with_path(11, 5).edges.tolist()),
    "wheel": partial(nx.wheel_graph, 16),
}
ANSWERS = ("map", "recall_at_1", "tie_order", "strongest_tie", "seconds")
# Whether the truth is a number that is small at the top.
OUTSIDE = {"law-advice": False, "cs-hiring": True, "ht-advice": True}
# Whether the truth is a number that is small at the source of a tie.
DIRECTED = {
    "cs-hiring": True,
    "worm": False,
    "law-advice": True,
    "ht-advice": False,
    "foodweb-benguela": True,
}


def trained(graph: Graph, seeds: int = SEEDS, orders: int = ORDERS) -> tuple[Floats, list[Figures]]:
    """δ [seeds · orders, n] of bare embeddings, of rows and nodes in several orders; measures and
    processor time.
    """
    deltas, measures = [], []
    (i, j), n = graph.edges.T, graph.n_nodes
    for order in range(orders):
        rng = np.random.default_rng(order)
        at, rows = (
            rng.permutation(size) if order else np.arange(size) for size in (n, graph.n_edges)
        )
        shuffled = Graph.from_arrays(at[i[rows]], at[j[rows]], graph.weights[rows], ids=n)
        for seed in range(seeds):
            began = time.process_time()
            run = uh.embed(shuffled, seed=seed, quiet=True)
            measures.append({**run.record.measures, "seconds": time.process_time() - began})
            deltas.append(run.delta[at])
    return np.array(deltas), measures


def kinds_of(graph: Graph, hops: Floats) -> list[list[int]]:
    """Nodes that neither their hops nor their neighbours tell apart."""
    offsets, nodes = graph.neighbor_lists
    kind = [tuple(sorted(row)) for row in hops.tolist()]
    while True:
        finer = [
            (kind[i], tuple(sorted(kind[j] for j in nodes[offsets[i] : offsets[i + 1]])))
            for i in range(len(kind))
        ]
        numbers = {value: number for number, value in enumerate(sorted(set(finer)))}
        found = [numbers[value] for value in finer]
        if len(numbers) == len(set(kind)):
            return [
                [i for i, own in enumerate(found) if own == number]
                for number in range(len(numbers))
            ]
        kind = found  # type: ignore[assignment]


def rho(a: Floats, b: Floats, kinds: Sequence[Sequence[int]]) -> float:
    """Spearman's ρ over nodes that can be told apart: the mean over 20 draws of one node of each
    kind.
    """
    rng = np.random.default_rng(0)
    draws = ([kind[int(rng.integers(len(kind)))] for kind in kinds] for _ in range(20))
    return bench.mean(float(spearmanr(a[some], b[some]).statistic) for some in draws)


def textbook() -> Figures:
    """Graphs of textbooks: the centre, ρ of δ and centrality, and how far runs agree."""
    figures: Figures = {}
    for name, make in TEXTBOOK.items():
        graph = uh.as_graph(make())
        hops = hops_from(graph, np.arange(graph.n_nodes)).astype(np.float64)
        far, kinds, central = hops.sum(1), kinds_of(graph, hops), centrality_of(graph).values
        delta, _ = trained(graph)
        figures[f"{name}:centre_first"] = float(far[central.argmax()] == far.min())
        figures[f"{name}:rho_centrality"] = min(rho(-row, central, kinds) for row in delta)
        figures[f"{name}:stability"] = min(
            rho(a, b, kinds) for a, b in itertools.combinations(delta, 2)
        )
        print(
            *(f"{key} {value:.3f}" for key, value in figures.items() if key.startswith(f"{name}:")),
            flush=True,
        )
    for key in ("centre_first", "rho_centrality", "stability"):
        figures[f"mean:{key}"] = bench.mean(figures[f"{name}:{key}"] for name in TEXTBOOK)
    return figures


def centralities(graph: Graph) -> dict[str, Floats]:
    """Our centrality and seven others [n], the higher the more central."""
    drawn = nx.Graph()
    drawn.add_nodes_from(range(graph.n_nodes))
    drawn.add_weighted_edges_from(
        (int(i), int(j), float(w)) for (i, j), w in zip(graph.edges, graph.weights, strict=True)
    )
    by_node = {
        "closeness": nx.closeness_centrality(drawn),
        "core": nx.core_number(drawn),
        "betweenness": nx.betweenness_centrality(drawn),
    }
    arrays = {
        name: np.array([found[i] for i in range(graph.n_nodes)], dtype=float)
        for name, found in by_node.items()
    }
    ours = {
        "centrality": centrality_of(graph).values,
        "eigenvector": eigenvector(graph),
        "pagerank": pagerank(graph),
    }
    return {**ours, "degree": graph.degree.astype(float), "strength": graph.strength, **arrays}


def truths(folder: Path) -> Iterator[tuple[str, Graph, Floats]]:
    """Name, graph, and the truth [n], high at the top; NaN where there is none."""
    for name in ("planted_tree", "planted_tree_weighted", "planted_random_tree"):
        made = GENERATED[name].make()
        assert made.depth is not None
        yield name, made.graph(name), -made.depth.astype(float)
    yield from known(folder / "directed", OUTSIDE)
    yield from known(folder / "truth", dict.fromkeys(("cortex", "macaques", "kangaroos"), False))


def known(
    folder: Path, names: dict[str, bool], directed: bool = False
) -> Iterator[tuple[str, Graph, Floats]]:
    """The same of the graphs of a folder, the truth turned round where the name has True."""
    for name, reverse in names.items():
        ties = folder / f"{name}.tsv.gz"
        if not ties.exists():
            print(f"{name}: not in {folder}")
            continue
        graph = uh.read_graph(ties, directed=directed, skip_bad_rows=True)
        rows = (folder / f"{name}.nodes.tsv").read_text(encoding="utf-8").splitlines()[1:]
        values = {node: float(value) for node, value in (row.split("\t")[:2] for row in rows)}
        truth = np.array([values.get(str(node), np.nan) for node in graph.ids])
        yield name, graph, -truth if reverse else truth


def outside(folder: Path) -> Figures:
    """ρ with a truth from elsewhere of centralities of the graph, with an interval of ours, and of
    δ.
    """
    figures: Figures = {}
    for name, graph, truth in truths(folder):
        some, rng = np.flatnonzero(~np.isnan(truth)), np.random.default_rng(0)
        scores = centralities(graph) | {"delta": -uh.embed(graph, quiet=True).delta}
        figures |= {
            f"{name}:{key}": float(spearmanr(score[some], truth[some])[0])
            for key, score in scores.items()
        }
        draws = [rng.choice(some, len(some)) for _ in range(200)]
        boots = [float(spearmanr(scores["centrality"][rows], truth[rows])[0]) for rows in draws]
        low, high = np.nanquantile(boots, (0.05, 0.95)).tolist()
        figures |= {f"{name}:low": low, f"{name}:high": high}
    names = list(dict.fromkeys(key.split(":")[0] for key in figures))
    heads = [*scores, "low", "high"]
    figures |= {
        f"mean:{key}": bench.mean(figures[f"{name}:{key}"] for name in names) for key in heads
    }
    rows = [
        [name, *(bench.cell(figures[f"{name}:{key}"]) for key in heads)]
        for name in [*names, "mean"]
    ]
    print(bench.table(["graph", *heads], rows))
    return figures


def board(folder: Path, names: Sequence[str]) -> Figures:
    """Means over the runs of the measures, how far two runs agree, and the means over the graphs of
    each half.
    """
    figures: Figures = {}
    for name in names:
        graph = load_graph(name, folder).graph
        uh.embed(graph, iterations=20, quiet=True)  # which compiles, untimed
        delta, measures = trained(graph)
        mine = {key: bench.mean(each.get(key, math.nan) for each in measures) for key in ANSWERS}
        mine["rho_centrality"] = bench.mean(
            spearmanr(-row, centrality_of(graph).values)[0] for row in delta
        )
        # Orders of one seed train nearly alike: pairs of different seeds are the harder ones.
        pairs = [(a, b) for a, b in itertools.combinations(range(len(delta)), 2) if (b - a) % SEEDS]
        agree = [float(spearmanr(delta[a], delta[b])[0]) for a, b in pairs]
        mine |= {"stability": bench.mean(agree), "least_stability": min(agree)}
        tops = [set(np.argsort(row)[:5].tolist()) for row in delta]
        mine["first_five"] = bench.mean(len(tops[a] & tops[b]) for a, b in pairs)
        figures |= {f"{name}:{key}": value for key, value in mine.items()}
        print(name, *(f"{key} {value:.3f}" for key, value in mine.items()), flush=True)
    halves = ("looked", "unseen", "both")
    for half, key in itertools.product(halves, mine):
        some = [figures[f"{name}:{key}"] for name in of_half(half) if name in names]
        figures[f"{half}:{key}"] = (
            min(some, default=math.nan) if key == "least_stability" else bench.mean(some)
        )
    rows = [[half, *(bench.cell(figures[f"{half}:{key}"]) for key in mine)] for half in halves]
    print(bench.table(["graphs", *mine], rows))
    return figures


def spring_rank(graph: Graph) -> Floats:
    return heights(graph.n_nodes, *graph.arcs, by_rank=False, alpha=0.01)


def directed(folder: Path, seeds: int) -> Figures:
    """ρ with the truth, high at the source (that of a centrality may be negative), and how well
    ties are found.
    """
    figures: Figures = {}
    for name, graph, truth in known(folder / "directed", DIRECTED, directed=True):
        n, (arcs, weights), some, plain = (
            graph.n_nodes,
            graph.arcs,
            ~np.isnan(truth),
            replace(graph, directions=None),
        )
        runs, others = (
            [uh.embed(g, seed=k, quiet=True) for k in range(seeds)] for g in (graph, plain)
        )
        out, into = (np.bincount(ends, minlength=n).astype(np.float64) for ends in arcs.T)
        above = spring_rank(graph)
        spring = np.square(above[:, None] - above - 1.0)
        reversed_pagerank = nx.pagerank(graph.to_networkx().reverse(), tol=1e-12, max_iter=1000)
        tops: dict[str, list[Floats]] = {
            "": [run.heights for run in runs],
            "spring_rank": [above],
            "out_degree": [out],
            "in_degree": [-into],
            "reversed_pagerank": [np.array([reversed_pagerank[node] for node in graph.ids])],
            "trophic_level": [-trophic_levels(n, arcs, weights)],
            **{key: [score] for key, score in centralities(plain).items()},
        }
        tables: dict[str, list[Floats]] = {
            "undirected": [run.distances() for run in others],
            "degrees": [-np.outer(out, into)],
            "spring_rank": [above - above[:, None]],
            "spring": [spring],
            "degrees_spring": [spring - np.add.outer(np.log1p(out), np.log1p(into))],
        }
        found = {
            "": [
                directed_measures(run.scores, run.scores_in, arcs, weights, run.heights)
                for run in runs
            ]
        }
        for key, each in tables.items():
            found[key] = [
                directed_measures(t.__getitem__, t.T.__getitem__, arcs, weights, above)
                for t in each
            ]
        mine = {
            f"rho:{k}": bench.mean(spearmanr(h[some], truth[some])[0] for h in each)
            for k, each in tops.items()
        }
        for key, measures in found.items():
            mine |= {
                f"{what}:{key}": bench.mean(one[what] for one in measures) for what in measures[0]
            }
        figures |= {f"{name}:{key.rstrip(':')}": value for key, value in mine.items()}
        bench.show({key: value for key, value in figures.items() if key.startswith(f"{name}:")})
    return figures


def held_out(folder: Path, splits: int) -> Figures:
    """The share of hidden one-way ties whose direction is right."""
    figures: Figures = {}
    for name, graph, _ in known(folder / "directed", DIRECTED, directed=True):
        assert graph.directions is not None
        ours, theirs, one_way = [], [], np.flatnonzero((graph.directions == 0.0).any(1))
        for split in range(splits):
            hidden = np.zeros(graph.n_edges, dtype=bool)
            hidden[
                np.random.default_rng(split).choice(
                    one_way, round(0.1 * len(one_way)), replace=False
                )
            ] = True
            rest, asked = (
                replace(
                    graph,
                    edges=graph.edges[k],
                    weights=graph.weights[k],
                    directions=graph.directions[k],
                )
                for k in (~hidden, hidden)
            )
            # Directions follow from the heights, which no iteration changes.
            run, above = uh.embed(rest, seed=split, iterations=1, quiet=True), spring_rank(rest)
            up = above - above[:, None]
            ours.append(
                directed_measures(run.scores, run.scores_in, *asked.arcs, run.heights)["direction"]
            )
            theirs.append(
                directed_measures(up.__getitem__, up.T.__getitem__, *asked.arcs, above)["direction"]
            )
        figures |= {
            f"{name}:held_out": bench.mean(ours),
            f"{name}:held_out:spring_rank": bench.mean(theirs),
        }
        print(name, f"ours {bench.mean(ours):.4f} SpringRank {bench.mean(theirs):.4f}", flush=True)
    return figures


def main() -> None:
    made = bench.parser(__doc__)
    parts: dict[str, Callable[[Path, int], Figures]] = {
        "textbook": lambda *_: textbook(),
        "outside": lambda at, _: outside(at),
        "board": lambda at, _: board(at, options.graphs),
        "directed": directed,
        "held-out": held_out,
    }
    made.add_argument("part", nargs="?", choices=tuple(parts), help="default: all")
    made.add_argument(
        "--graphs", nargs="+", default=of_half("both"), metavar="NAME", help="of board: these"
    )
    made.add_argument(
        "--seeds",
        type=int,
        default=5,
        help="of directed, and splits of held-out (default: 5)",
    )
    bench.add_folder(made)
    options = made.parse_args()
    wanted = [
        part(options.folder, options.seeds)
        for name, part in parts.items()
        if options.part in (None, name)
    ]
    bench.finish({key: value for figures in wanted for key, value in figures.items()}, options.json)


if __name__ == "__main__":
    main()
