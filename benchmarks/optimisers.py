"""PseudoRiemannianAdam beside geoopt's RiemannianAdam: five problems in hyperbolic space, and the
spaces geoopt lacks.

    python benchmarks/optimisers.py --json out/optimisers.json

Both start at the same points, follow the same loss with the same mini-batches and use the defaults
of their libraries. A loss is the mean of the last tenth of the steps, as mini-batches differ.
"fails" stands for a loss that is not finite or an error. Steps are timed in turns, on gradients
that are already there.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import geoopt
import torch
from bench import Figures, parser, save, show, table
from torch import Tensor

from ultrahyperbolic import ManifoldParameter, PseudoHyperboloid
from ultrahyperbolic.optim import PseudoRiemannianAdam

Loss = Callable[[PseudoHyperboloid, Tensor, torch.Generator], Tensor]
RATES = (1e-3, 1e-2, 3e-2, 0.1, 0.3)
HYPERBOLIC = (PseudoHyperboloid(2, 0), PseudoHyperboloid(5, 0))
OTHERS = tuple(PseudoHyperboloid(*signature) for signature in ((2, 1), (3, 3), (0, 2), (0, 5)))
BARS = {"failures": "0"} | {f"step:{parameters}:ratio": "at most 1" for parameters in (1, 10)}
DEPTH = 5
NODES = 2 ** (DEPTH + 1) - 1
# Points of the last two problems, and the spread of what they are fitted to.
CENTRES, SAMPLES, SPREAD = 4, 200, 1.0


def tree() -> tuple[Tensor, Tensor]:
    """Pairs (ancestor, descendant) of the binary tree, and the hops between all nodes [n, n]."""
    lines = [[node] for node in range(NODES)]
    for line in lines:
        while line[-1] > 0:
            line.append((line[-1] - 1) // 2)
    closure = [(up, line[0]) for line in lines for up in line[1:]]
    hops = [[len({*a} ^ {*b}) for b in lines] for a in lines]
    return torch.tensor(closure), torch.tensor(hops, dtype=torch.float64)


CLOSURE, HOPS = tree()
LINKS = CLOSURE[HOPS[CLOSURE[:, 0], CLOSURE[:, 1]] == 1]
PAIRS = torch.triu_indices(NODES, NODES, 1)


def stress(M: PseudoHyperboloid, x: Tensor, generator: torch.Generator) -> Tensor:
    """How far dissimilarities are from hops, relative to these."""
    i, j = PAIRS
    return (M.dissimilarity(x[i], x[j]) / HOPS[i, j].to(x.dtype) - 1.0).square().mean()


def choice(
    M: PseudoHyperboloid, x: Tensor, pairs: Tensor, generator: torch.Generator, negatives: int
) -> Tensor:
    """Cross-entropy of the second node of a pair among random ones, by their nearness to the
    first.
    """
    drawn = torch.randint(NODES, (len(pairs), negatives), generator=generator)
    candidates = torch.cat((pairs[:, 1:], drawn), dim=1)
    scores = -M.dissimilarity(x[pairs[:, :1]], x[candidates])
    return -scores.log_softmax(1)[:, 0].mean()


def contrastive(M: PseudoHyperboloid, x: Tensor, generator: torch.Generator) -> Tensor:
    """Mini-batches of 16 edges with 5 random nodes each."""
    batch = torch.randint(len(LINKS), (16,), generator=generator)
    return choice(M, x, LINKS[batch], generator, 5)


def poincare(M: PseudoHyperboloid, x: Tensor, generator: torch.Generator) -> Tensor:
    """The loss of Nickel and Kiela (2017) on the transitive closure, with 10 random nodes a
    pair.
    """
    return choice(M, x, CLOSURE, generator, 10)


def sample(M: PseudoHyperboloid, x: Tensor) -> Tensor:
    """The same points for every run."""
    return M.random(SAMPLES, scale=SPREAD, generator=1).to(x.dtype)


def barycentre(M: PseudoHyperboloid, x: Tensor, generator: torch.Generator) -> Tensor:
    """Mean squared dissimilarity of each of some points to its share of the sample: their Fréchet
    means.
    """
    shares = sample(M, x).view(CENTRES, -1, M.ambient_dim)
    return M.dissimilarity(x[:CENTRES, None], shares).square().mean()


def classifier(M: PseudoHyperboloid, x: Tensor, generator: torch.Generator) -> Tensor:
    """Logistic regression on the sample, linear in ⟨x_k, y⟩, of two classes; a third of the labels
    is drawn.
    """
    y, drawn = sample(M, x), torch.Generator().manual_seed(2)
    label = torch.where(
        torch.rand(SAMPLES, generator=drawn) < 1 / 3, torch.rand(SAMPLES, generator=drawn), y[:, -1]
    )
    return torch.nn.functional.cross_entropy(M.inner(x[:CENTRES, None], y).mT, (label > 0.5).long())


PROBLEMS: Mapping[str, Loss] = {
    "stress": stress,
    "contrastive": contrastive,
    "poincare": poincare,
    "barycentre": barycentre,
    "classifier": classifier,
}


def theirs(x: Tensor, M: PseudoHyperboloid, lr: float) -> tuple[Tensor, Any]:
    """geoopt's parameter and optimiser."""
    lorentz: Any = geoopt.Lorentz(k=1.0)
    point = geoopt.ManifoldParameter(x.clone(), lorentz)
    return point, geoopt.optim.RiemannianAdam([point], lr=lr)


def ours(x: Tensor, M: PseudoHyperboloid, lr: float) -> tuple[Tensor, Any]:
    """The same of this package."""
    point = ManifoldParameter(x.clone(), M)
    return point, PseudoRiemannianAdam([point], lr=lr)


def train(
    loss: Loss, M: PseudoHyperboloid, make: Any, lr: float, steps: int, dtype: torch.dtype
) -> float:
    """The mean loss of the last tenth of the steps; NaN where training failed."""
    generator = torch.Generator().manual_seed(0)
    point, optimizer = make(M.random_near_pole(NODES, epsilon=0.1, generator=0).to(dtype), M, lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(M, point.as_subclass(Tensor), generator)
        value.backward()  # type: ignore[no-untyped-call]
        losses.append(value.item())
        try:
            optimizer.step()
        except FloatingPointError:
            return math.nan
    return statistics.fmean(losses[-max(1, steps // 10) :])


def interleave(
    work: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Seconds of every call, all functions once a round, each round in the reverse order of the one
    before.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    order = list(work)
    for _ in range(warm_up + rounds):
        order.reverse()
        for name in order:
            start = time.perf_counter()
            work[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: times[warm_up:] for name, times in seconds.items()}


def step_times(parameters: int, rounds: int) -> Figures:
    """Microseconds of a step of parameters of 1,000 points in H², and their ratio: the median over
    the rounds.
    """
    M, work = HYPERBOLIC[0], {}
    for who, make in (("ours", ours), ("geoopt", theirs)):
        points, optimizers = zip(
            *(make(M.random(1000, generator=k), M, 1e-3) for k in range(parameters)), strict=True
        )
        for point in points:
            point.grad = torch.randn(
                point.shape, dtype=point.dtype, generator=torch.Generator().manual_seed(0)
            )
        work[who] = type(optimizers[0])(points, lr=1e-3).step
    seconds = interleave(work, rounds, warm_up=20)
    figures: Figures = {
        f"step:{parameters}:{who}_us": 1e6 * statistics.median(each)
        for who, each in seconds.items()
    }
    ratios = [mine / rival for mine, rival in zip(*seconds.values(), strict=True)]
    return figures | {f"step:{parameters}:ratio": statistics.median(ratios)}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--steps", type=int, default=500)
    made.add_argument("--rounds", type=int, default=300)
    options = made.parse_args()
    torch.set_num_threads(1)
    figures, rows = Figures(), []
    for (name, loss), M, dtype in product(
        PROBLEMS.items(), HYPERBOLIC + OTHERS, (torch.float64, torch.float32)
    ):
        makers = {"ours": ours} | ({"geoopt": theirs} if M.q == 0 else {})
        space = f"Q{M.p},{M.q}:{str(dtype).removeprefix('torch.')}"
        rows.append([name, space])
        for lr in RATES:
            found = {
                who: train(loss, M, make, lr, options.steps, dtype) for who, make in makers.items()
            }
            figures |= {f"{name}:{space}:{lr:g}:{who}": value for who, value in found.items()}
            rows[-1].append(
                " / ".join(
                    "fails" if math.isnan(value) else f"{value:.3g}" for value in found.values()
                )
            )
    print(table(("problem", "space", *(f"lr {lr:g}: ours / geoopt" for lr in RATES)), rows))
    times = step_times(1, options.rounds) | step_times(10, options.rounds)
    times["failures"] = sum(
        math.isnan(value) for key, value in figures.items() if key.endswith(":ours")
    )
    show(times, BARS)
    save(figures | times, options.json)


if __name__ == "__main__":
    main()
