"""Is the ranking a property of the graph, and is it true? A bare `embed` on graphs whose centre is
known.

  python benchmarks/truth.py textbook    the most central node first, ρ of δ and centrality,
  agreement of runs python benchmarks/truth.py outside     ρ of centralities with a truth from
  elsewhere python benchmarks/truth.py board       the measures and the agreement between runs on
  the graphs of the board python benchmarks/truth.py directed    height, neighbours both ways and
  all ordered pairs of directed graphs python benchmarks/truth.py held-out    the direction of a
  tenth of the one-way ties, hidden: ours and SpringRank's python benchmarks/truth.py flows       a
  ring, a tree whose leaves lead back to the root, a symmetric graph python benchmarks/truth.py
  dup-div     hidden ties of a graph that grew by duplication, and two likelihoods of others python
  benchmarks/truth.py worm        a picture of the neurons of C. elegans by their heights

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
import torch
from bench import Figures, Floats, Ints
from board_graphs import load_graph, of_half
from graphs import GENERATED, star_with_path
from scipy.stats import rankdata, spearmanr
from torch import Tensor
from torch.nn.functional import logsigmoid

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation.directed import directed_measures
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.centrality import eigenvector, pagerank
from ultrahyperbolic.graph.flow import centrality_of
from ultrahyperbolic.graph.heights import flow, heights, trophic_levels
from ultrahyperbolic.graph.hops import hops_from
from ultrahyperbolic.plot import plane

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


def flows() -> Figures:
    """Heights and circulation of graphs of which both are known; a symmetric one beside itself
    without directions.
    """
    tree, people = nx.balanced_tree(3, 4, create_using=nx.DiGraph), nx.les_miserables_graph()
    tree.add_edges_from([(node, 0) for node in list(tree) if not tree.out_degree(node)])
    figures, ring = Figures(), nx.cycle_graph(100, create_using=nx.DiGraph)
    for name, made in {"ring": ring, "tree": tree, "symmetric": people.to_directed()}.items():
        graph = Graph.from_networkx(made, directed=True)
        run = uh.embed(graph, quiet=True)
        mine = {
            **flow(graph.n_nodes, *graph.arcs)._asdict(),
            "spread_of_heights": float(np.ptp(run.heights)),
        }
        mine |= directed_measures(run.scores, run.scores_in, *graph.arcs, run.heights)
        figures |= {f"{name}:{key}": value for key, value in mine.items()}
    plain = uh.embed(people, quiet=True).record.measures
    gaps = [abs(value - plain[key]) for key, value in run.record.measures.items() if key in plain]
    return figures | {"symmetric:largest_gap": max(gaps)}


def duplicated(n: int, kept: float, seed: int) -> Ints:
    """[m, 2] from a ring of three nodes: a drawn one is copied, and with it each of its ties with a
    chance of ``kept``.

    A copy without ties does not count.
    """
    rng, arcs, size = np.random.default_rng(seed), [(0, 1), (1, 2), (2, 0)], 3
    while size < n:
        old = int(rng.integers(size))
        ends = [
            [size if end == old else end for end in arc]
            for arc in arcs
            if old in arc and rng.random() < kept
        ]
        arcs += [(i, j) for i, j in ends]
        size += bool(ends)
    return np.array(arcs)


def cylinder(x: Tensor, own: Tensor) -> Tensor:
    """Sim et al. (2021): the chance [n, n] of ties, three Fermi–Dirac functions; time goes round,
    at most once more.
    """
    (a, b, r), gap = (
        own[:3].exp(),
        torch.remainder(x[:, 0] - x[:, None, 0] + math.pi, 2.0 * math.pi) - math.pi,
    )
    apart, chances = (x[:, None, 1:] - x[:, 1:]).square().sum(-1), []
    for t in (gap, gap - 2.0 * math.pi, gap + 2.0 * math.pi):
        logs = (
            logsigmoid((r - apart + t * t) / a)
            + logsigmoid(t / b)
            + logsigmoid(-own[3].sub(2.0).sigmoid() * t / b)
        )
        chances.append((logs / 3.0).exp())
    return torch.stack(chances).mean(0)


def spacetime(x: Tensor, own: Tensor) -> Tensor:
    """Law & Lucas (2023): σ(χ²)σ(τ), χ² the squared proper time, and τ the time from the first node
    to the second.
    """
    gap, apart = x[:, 0] - x[:, None, 0], (x[:, None, 1:] - x[:, 1:]).square().sum(-1)
    return torch.sigmoid((gap * gap - apart) / own[0].exp()) * torch.sigmoid(gap / own[1].exp())


def rival(
    chance: Callable[[Tensor, Tensor], Tensor], arcs: Ints, n: int, seed: int
) -> dict[str, Floats]:
    """Minus the chances of ties in 10 dimensions, most likely by Adam, four pairs without a tie
    counting as one tie.

    After several numbers of steps, as more than a few fit the ties that are known and no others.
    """
    x = 0.1 * torch.randn(n, 10, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    own, (i, j) = torch.zeros(4, dtype=torch.float64), torch.from_numpy(arcs.T.copy())
    optimizer = torch.optim.Adam([x.requires_grad_(), own.requires_grad_()], 0.02)
    other = ~torch.eye(n, dtype=torch.bool)
    other[i, j] = False
    found = {}
    for step in range(1, 241):
        known = chance(x, own).clamp(1e-9, 1.0 - 1e-6)
        loss = -known[i, j].log().mean() - 4.0 * torch.log1p(-known[other]).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step in (15, 30, 60, 120, 240):
            found[f"{chance.__name__}_{step}"] = -known.detach().numpy()
    return found


def dup_div(starts: int) -> Figures:
    """Average precision of hidden ties (15 %) of a graph that grew by duplication, among four times
    as many others.
    """
    n, arcs, found = 100, duplicated(100, 0.7, 1), Figures()
    missing = np.argwhere(
        ~(np.isin(np.arange(n * n).reshape(n, n), arcs @ [n, 1]) | np.eye(n, dtype=bool))
    )
    for start in range(starts):
        rng, hidden = np.random.default_rng(start), round(0.15 * len(arcs))
        asked, rest = np.split(rng.permutation(arcs), [hidden])
        others = rng.permutation(missing)[: 4 * hidden]
        graph = Graph.from_arrays(*rest.T, ids=n, directed=True)
        out, into = (np.bincount(ends, minlength=n).astype(np.float64) for ends in rest.T)
        tables = {"degrees": -np.outer(out, into)}
        for chance in (cylinder, spacetime):
            tables |= rival(chance, rest, n, start)
        for signature in ("10,0", "3,3"):
            run = uh.embed(graph, signature=signature, seed=start, quiet=True)
            tables[f"ours_{signature}"] = run.scores(np.arange(n))
        for name, scores in tables.items():
            ties, rest_of = scores[tuple(asked.T)], scores[tuple(others.T)]
            before = [((ties <= each).sum(), (rest_of <= each).sum()) for each in ties]
            found.setdefault(name, []).append(
                bench.mean(own / (own + other) for own, other in before)
            )
    return {f"dup-div:{name}": float(np.median(each)) for name, each in found.items()} | {
        "dup-div:ties": len(arcs)
    }


def worm(folder: Path, path: Path) -> Figures:
    """Every neuron at its height, ties that point up in red, and the layers that others found in
    colours.
    """
    from matplotlib.figure import Figure

    ((_, graph, layer),) = known(folder, {"worm": DIRECTED["worm"]}, directed=True)
    run = uh.embed(graph, quiet=True)
    at = np.column_stack((rankdata(plane(run)[:, 0]), run.heights))
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    axis = figure.subplots()
    for i, j in graph.arcs[0]:
        up = at[i, 1] < at[j, 1]
        axis.plot(*at[[i, j]].T, color="#d62728" if up else "#777777", alpha=0.15, lw=0.4, zorder=0)
    x, y = at.T
    axis.scatter(x[np.isnan(layer)], y[np.isnan(layer)], color="#bbbbbb", s=12, label="other cells")
    for k, words in enumerate(("motor", "first layer", "second layer", "third layer", "sensory")):
        axis.scatter(x[layer == k], y[layer == k], color=f"C{k}", s=22, label=words)
    axis.legend(fontsize="small", loc="lower left")
    axis.set(
        xlabel="nodes by their place on the map",
        ylabel="height",
        title="C. elegans: ties point down",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    return {
        f"worm:{key}": run.record.measures[key]
        for key in ("direction", "weight_down", "circulation")
    }


def main() -> None:
    made = bench.parser(__doc__)
    parts: dict[str, Callable[[Path, int], Figures]] = {
        "textbook": lambda *_: textbook(),
        "outside": lambda at, _: outside(at),
        "board": lambda at, _: board(at, options.graphs),
        "directed": directed,
        "held-out": held_out,
        "flows": lambda *_: flows(),
        "dup-div": lambda _, seeds: dup_div(4 * seeds),
        "worm": lambda at, _: worm(at, options.plot),
    }
    made.add_argument("part", nargs="?", choices=tuple(parts), help="default: all")
    made.add_argument(
        "--graphs", nargs="+", default=of_half("both"), metavar="NAME", help="of board: these"
    )
    made.add_argument(
        "--seeds",
        type=int,
        default=5,
        help="splits of held-out, a quarter of dup-div's (default: 5)",
    )
    made.add_argument(
        "--plot",
        type=Path,
        default=Path("worm.png"),
        help="of worm: draw it here (default: worm.png)",
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
