"""``embed``: from a graph to a folder with its embedding."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..progress import bar
from . import options as opt
from . import summary
from .errors import Refused, refusing
from .geometry import geometry_named
from .options import Dissimilarity
from .output import print_json
from .resume import reopen
from .signals import leaving
from .sources import as_given, find_graph, graph_name, open_embedding, where_from
from .together import left_behind, together
from .training import Keeping, Task, begin, claim, train_and_keep

if TYPE_CHECKING:
    from ..engines.base import Place
    from ..graph import Graph

_GEOMETRY, _TRAINING, _RESULT = "Geometry", "Training", "Result"
EXAMPLES = """
Examples:

  ultrahyperbolic embed karate
  ultrahyperbolic embed ties.tsv --signature 3,1 --seed 7 -o club
  ultrahyperbolic embed ties.csv --weight calls --iterations 5000
  ultrahyperbolic embed roads.csv --weight km --weights-are-distances
  ultrahyperbolic embed karate --preset paper --signature 2,2 -o out/paper
  ultrahyperbolic embed roads.tsv --unweighted --time-limit 60 --json
  ultrahyperbolic embed new_ties.tsv --continue-from club -o club2
  ultrahyperbolic embed --resume club"""


def _option(panel: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, show_default=False, **settings)


@together
@opt.reads_graph
def embed(
    context: typer.Context,
    graph: opt.OptionalGraphArgument = None,
    signature: Annotated[
        str | None,
        _option(_GEOMETRY, "--signature", metavar="P,Q", help="The signature of Q^(p,q), or flat; 3,3 if not said."),
    ] = None,
    p: Annotated[int | None, _option(_GEOMETRY, "--p", metavar="P", min=0, help="Space dimensions; with --q.")] = None,
    q: Annotated[int | None, _option(_GEOMETRY, "--q", metavar="Q", min=0, help="Time dimensions less 1.")] = None,
    flat: Annotated[bool, _option(_GEOMETRY, "--flat", help="Euclidean space, as --signature flat.")] = False,
    dim: Annotated[
        int | None,
        _option(_GEOMETRY, "--dim", min=1, help="Dimension instead: the signature is chosen (see select), or flat."),
    ] = None,
    product: Annotated[
        str | None,
        _option(_GEOMETRY, "--product", metavar="PARTS", help="Geometries side by side, such as 3,1+2,0+flat2."),
    ] = None,
    beta: Annotated[
        float | None, _option(_GEOMETRY, "--beta", help="Below 0; 1/beta is the curvature. -1 if not said.")
    ] = None,
    goal: Annotated[
        Literal["balanced", "hierarchy", "neighbours", "neighbors", "ties"],
        _option(_TRAINING, "--goal", help="What the embedding is for; balanced if not said."),
    ] = "balanced",
    by: Annotated[
        Literal["graph", "links"],
        _option(_GEOMETRY, "--by", help="With --dim: judge by the graph itself, or by ties held out."),
    ] = "graph",
    seeds: Annotated[
        int,
        _option(_TRAINING, "--seeds", metavar="N", min=1, help="Train N seeds, keep the best, give ranks intervals."),
    ] = 1,
    seed: Annotated[
        int,
        _option(
            _TRAINING,
            "--seed",
            metavar="N",
            min=0,
            max=2**63 - 1,
            help="Same seed, same points on the CPU; 0 if not said.",
        ),
    ] = 0,
    preset: Annotated[
        Literal["paper", "paper-text"] | None,
        _option(_TRAINING, "--preset", help="The recipe of the paper: as the authors' scripts have it, or its text."),
    ] = None,
    optimizer: Annotated[
        Literal["descent", "phi", "gradient", "signed-gradient"] | None,
        _option(
            _TRAINING,
            "--optimizer",
            help="Along -χ (descent), through φ, along -Df, which need not converge, or ∓Df, whichever descends.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        _option(
            _TRAINING,
            "--iterations",
            min=1,
            help="At most; if not said 1600 to 4000, the more ties a node has the more; 10000 with the preset.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        _option(
            _TRAINING, "--time-limit", metavar="SECONDS", help="Fit the training into this; with --resume, from now on."
        ),
    ] = None,
    temperature: Annotated[
        str | None,
        _option(_TRAINING, "--temperature", metavar="TAU", help="τ, or start,end; set by the method if not said."),
    ] = None,
    dissimilarity: Annotated[
        Dissimilarity | None,
        _option(
            _TRAINING,
            "--dissimilarity",
            help="What is trained: smoothed D_γ if not said; geodesic is D_γ, extrinsic Eq. 4, distance that of flat "
            "space, H^p or S^q.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        _option(_TRAINING, "--epsilon", metavar="EPS", help="Smoothing of the light cone, or start,end."),
    ] = None,
    step: Annotated[float | None, _option(_TRAINING, "--step", help="Step size; default: set by the method.")] = None,
    max_step: Annotated[
        str | None,
        _option(_TRAINING, "--max-step", metavar="LENGTH", help="The longest move of a point, or start,end."),
    ] = None,
    stop: Annotated[
        Literal["converged", "iterations", "ordered"] | None,
        _option(
            _TRAINING,
            "--stop",
            help="converged if not said; iterations: perform them all; ordered: also stop once every tie is shorter "
            "than every non-tie.",
        ),
    ] = None,
    scope: Annotated[
        Literal["graph", "node"] | None,
        _option(
            _TRAINING,
            "--scope",
            help="Compare a tie with all weaker pairs of the graph, or with those of its two ends; set by the method "
            "if not said.",
        ),
    ] = None,
    popularity: Annotated[
        bool | None,
        _option(
            _TRAINING,
            "--popularity/--no-popularity",
            help="Learn an offset of each node that is taken from its distances: for the ties of hubs, at the cost of "
            "the hierarchy. On for the goals neighbours and ties if not said.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        _option(_TRAINING, "--device", help="cpu or cuda; cuda if not said where there is one and the graph is large."),
    ] = None,
    backend: Annotated[
        Literal["auto", "numba", "triton", "reference", "sampled"],
        _option(
            _TRAINING,
            "--backend",
            help="numba on the CPU, triton on CUDA, reference (torch), or sampled, which draws ties and pairs; the "
            "fastest that fits if not said.",
        ),
    ] = "auto",
    threads: Annotated[
        int | None, _option(_TRAINING, "--threads", min=1, help="CPU threads; results do not depend on it.")
    ] = None,
    precision: Annotated[
        Literal["float64", "float32"] | None,
        _option(_TRAINING, "--precision", help="Of the pass over pairs; float64 on the CPU, float32 on CUDA."),
    ] = None,
    deterministic: Annotated[
        bool, _option(_TRAINING, "--deterministic", help="Same seed, same bits, or a line that says why not.")
    ] = False,
    output: Annotated[
        Path | None,
        _option(_RESULT, "-o", "--output", metavar="FOLDER", help="Where to write; out/NAME OF THE GRAPH if not said."),
    ] = None,
    overwrite: Annotated[bool, _option(_RESULT, "--overwrite", help="Replace the embedding that is there.")] = False,
    continue_from: Annotated[
        Path | None,
        _option(
            _TRAINING,
            "--continue-from",
            metavar="FOLDER",
            help="Start from an earlier embedding of this graph: old nodes start where they were, new ones near their "
            "ties. The geometry comes from FOLDER.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        _option(_RESULT, "--resume", metavar="FOLDER", help="Go on with the training of a folder; needs nothing else."),
    ] = None,
    checkpoint_every: Annotated[
        float | None,
        _option(_RESULT, "--checkpoint-every", metavar="SECONDS", help="How often to write one; 10 if not said."),
    ] = None,
    tensorboard: Annotated[
        Path | None,
        _option(
            _RESULT, "--tensorboard", metavar="FOLDER", help="Write the training there for TensorBoard, as it goes."
        ),
    ] = None,
    with_report: Annotated[
        bool,
        _option(_RESULT, "--report/--no-report", help="Whether to write report.html, to look at; yes if not said."),
    ] = True,
    quiet: Annotated[bool, _option(_RESULT, "--quiet", help="Print nothing but errors (and --json).")] = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Embed a graph: stronger ties shorter than weaker ones.

    A weight is the strength of a tie: the larger, the closer; 1 where none
    is given. Where yours are distances or costs, give --weights-are-distances,
    which takes 1/d (docs/graphs.md).

    FOLDER gets embedding.parquet (node, coordinates, delta, rank),
    run.json (settings, seed, versions, loss, measures) and report.html,
    to look at in a browser. Ctrl-C and --time-limit keep the best points
    so far, and a checkpoint from which --resume goes on.
    """
    keeping = Keeping(checkpoint_every, tensorboard, with_report, quiet, as_json)
    keeping.check()
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise Refused(f"--time-limit {time_limit:g}: a number of seconds above 0 is needed")
    if resume is not None:
        _resume(context, resume, time_limit, threads, keeping)
        return
    if graph is None:
        raise Refused("Missing argument 'GRAPH' (see ultrahyperbolic embed --help)")
    context.with_resource(bar(f"embedding {graph}", show=not quiet))  # between the bars of the steps, too
    place, command = output or Path("out") / graph_name(graph), shlex.join(context.obj)
    left = left_behind(place, command)
    if left == "a checkpoint":
        _resume(context, place, None, threads, keeping, again=True)
        return
    overwrite = overwrite or left == "a beginning"
    where = geometry_named(signature, p, q, dim, beta, product, flat=flat)
    ends, smoothing, longest = (
        None if text is None else opt.parse_ends(name, text)
        for name, text in (("--temperature", temperature), ("--epsilon", epsilon), ("--max-step", max_step))
    )
    _check_machine(device, backend, precision)
    keeping.check_board()
    data = find_graph(graph, reading, quiet=quiet)

    from ..engines.base import Place
    from ..graph import GraphError
    from ..training.continued import continued_geometry
    from ..training.method import as_goal
    from ..training.overrides import Overrides
    from ..training.plan import Execution, Plan
    from ..training.select import choose
    from ..training.where import Choice, geometry_of

    with refusing(GraphError):
        data.require_trainable()
    _check_ids(data)
    old = None if continue_from is None else open_embedding(continue_from)
    with refusing(ValueError, TypeError):
        overrides = Overrides(
            optimizer, iterations, ends, dissimilarity, smoothing, step, longest, stop, scope, popularity
        )
        machine = Place(device, backend, threads, precision)
        geometry = geometry_of(**where) if old is None else continued_geometry(old, **where)
        asked = Plan(geometry, overrides, seed, preset, time_limit, machine, as_goal(goal), by, seeds, old)
        execution = Execution(asked, data, quiet=quiet)
    if deterministic:
        _check_deterministic(execution.plan.place)
    if isinstance(geometry, Choice):
        claim(context, place, overwrite=overwrite)
        with (
            refusing(ValueError, TypeError, MemoryError),
            leaving("interrupted while the signature was chosen: no embedding is saved"),
        ):
            choose(execution)
    with refusing(MemoryError):
        record = execution.prepare()
    if execution.selection is None:
        claim(context, place, overwrite=overwrite)
    about = None if record.graph is None else where_from(record.graph, graph, reading)
    task = Task(place, execution, replace(record, graph=about, command=command, reading=as_given(reading)))
    begin(task)
    train_and_keep(task, keeping)


def _resume(
    context: typer.Context,
    folder: Path,
    time_limit: float | None,
    threads: int | None,
    keeping: Keeping,
    *,
    again: bool = False,
) -> None:
    """Go on with the training of a folder, or say that it is finished; ``again`` where the command was restarted."""
    context.with_resource(bar(f"continuing {folder}", show=not keeping.quiet))
    task = reopen(context, folder, time_limit=time_limit, threads=threads, quiet=keeping.quiet, again=again)
    if isinstance(task, Task):
        keeping.check_board()
        train_and_keep(task, keeping)
    elif keeping.as_json:
        print_json(summary.as_json(open_embedding(folder), folder))
    elif not keeping.quiet:
        print(f"{folder} is finished: {task}")


def _check_machine(device: str | None, backend: str, precision: str | None) -> None:
    if backend == "reference" and precision == "float32":
        raise Refused("--precision float32 is of the backends numba and triton: leave --backend reference out")
    if device is None and backend != "triton":
        return
    import torch

    if backend == "triton" and not torch.cuda.is_available():
        raise Refused("--backend triton needs a CUDA device, and torch finds none")
    if device is None:
        return
    kind = opt.device_kind(device)
    if backend == "numba" and kind != "cpu":
        raise Refused(f"--backend numba computes on the CPU: leave --device {device} out")
    if backend == "triton" and kind != "cuda":
        raise Refused(f"--backend triton computes on CUDA: leave --device {device} out")


def _check_deterministic(place: Place) -> None:
    if place.backend in ("reference", "sampled") and place.torch_device.type != "cpu":
        device = place.torch_device
        raise Refused(f"--deterministic: torch's sums on {device} have no fixed order: use triton or the CPU")


def _check_ids(graph: Graph) -> None:
    """Refuse now what could not be written after the training."""
    for node in graph.ids:
        if not isinstance(node, str | int | float):
            kind = type(node).__name__
            raise Refused(f"{graph.source}: id {node!r} is of type {kind}: make the ids text or numbers")
