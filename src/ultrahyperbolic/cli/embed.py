"""``embed``: from a graph to a folder with its embedding."""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options as opt
from .errors import Refused, reason, refusing
from .options import Dissimilarity
from .output import json_rows, note, number, percent, print_json, print_table, shown
from .resume import Task, hold, reopen
from .signals import cut_short, end, leaving, on_interrupt
from .sources import find_graph, graph_name, open_embedding, where_from

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph
    from ..training.checkpoint import Checkpoints
    from ..training.config import TrainingConfig

_TOP = 10
_GEOMETRY, _TRAINING, _RESULT = "Geometry", "Training", "Result"
EXAMPLES = """
Examples:

  ultrahyperbolic embed karate
  ultrahyperbolic embed ties.tsv --signature 3,1 --seed 7 -o club
  ultrahyperbolic embed ties.csv --weight calls --iterations 5000
  ultrahyperbolic embed roads.csv --weight km --weights-are-distances
  ultrahyperbolic embed karate --preset paper --signature 2,2 -o out/paper
  ultrahyperbolic embed roads.tsv --unweighted --time-limit 60 --json
  ultrahyperbolic embed --resume club"""


def _option(panel: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, show_default=False, **settings)


@opt.reads_graph
def embed(
    context: typer.Context,
    graph: opt.OptionalGraphArgument = None,
    signature: Annotated[
        str | None,
        _option(_GEOMETRY, "--signature", metavar="P,Q", help="The signature of Q^(p,q), or flat; 3,1 if not said."),
    ] = None,
    dim: Annotated[
        int | None,
        _option(_GEOMETRY, "--dim", min=1, help="Dimension instead: the signature is chosen (see select), or flat."),
    ] = None,
    beta: Annotated[
        float | None, _option(_GEOMETRY, "--beta", help="Below 0; 1/beta is the curvature. -1 if not said.")
    ] = None,
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
        _option(_TRAINING, "--iterations", min=1, help="2000 if not said; 10000 with the preset."),
    ] = None,
    time_limit: Annotated[
        float | None,
        _option(_TRAINING, "--time-limit", metavar="SECONDS", help="Stop after this long; with --resume, from now on."),
    ] = None,
    temperature: Annotated[
        str | None,
        _option(
            _TRAINING, "--temperature", metavar="TAU", help="τ: the last, or start,end; set by the method if not said."
        ),
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
    stop: Annotated[
        Literal["iterations", "ordered"] | None,
        _option(_TRAINING, "--stop", help="ordered: also stop once every tie is shorter than every non-tie."),
    ] = None,
    device: Annotated[
        str | None,
        _option(_TRAINING, "--device", help="cpu or cuda; cuda if not said where there is one and the graph is large."),
    ] = None,
    backend: Annotated[
        Literal["auto", "numba", "triton", "reference"],
        _option(_TRAINING, "--backend", help="Compiled: numba on the CPU, triton on CUDA; reference: torch."),
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
    from ..graph import GraphError

    if checkpoint_every is not None and not checkpoint_every >= 0:
        raise Refused(f"--checkpoint-every {checkpoint_every:g}: a number of seconds of at least 0 is needed")
    _check_time_limit(time_limit)
    if resume is not None:
        task = reopen(context, resume, time_limit=time_limit, quiet=quiet)
        if isinstance(task, Task):
            _check_board(tensorboard)
            _train_and_keep(
                task, threads, checkpoint_every, tensorboard, with_report=with_report, quiet=quiet, as_json=as_json
            )
        elif as_json:
            print_json(_report(open_embedding(resume), resume))
        elif not quiet:
            print(f"{resume} is finished: {task}")
        return
    if graph is None:
        raise Refused("Missing argument 'GRAPH' (see ultrahyperbolic embed --help)")
    geometry = _geometry(signature, dim, beta)
    chosen: dict[str, Any] = {
        "optimizer": optimizer,
        "iterations": iterations,
        "temperature": None if temperature is None else opt.parse_ends("--temperature", temperature),
        "dissimilarity": dissimilarity,
        "stop": stop,
    }
    _check_machine(device, backend, precision)
    _check_board(tensorboard)
    data = find_graph(graph, reading, quiet=quiet)
    with refusing(GraphError):
        data.require_trainable()
    _check_ids(data)

    from ..engines.memory import require_memory
    from ..training.embed import check_choice, configure
    from ..training.select import choose_signature

    machine: dict[str, Any] = {"device": device, "backend": backend, "threads": threads, "precision": precision}
    place = output or Path("out") / graph_name(graph)
    selection = None
    if geometry.get("p") is None and geometry["dim"] is not None and not geometry.get("flat"):
        dim, curvature = geometry.pop("dim"), geometry.get("beta", -1.0)
        with refusing(ValueError, TypeError, MemoryError):
            engine, on, flat = check_choice(
                data, dim, beta=curvature, seed=seed, preset=preset, time_limit=time_limit, options=machine, **chosen
            )
            if deterministic:
                _check_deterministic(engine, on)
            _claim(context, place, overwrite=overwrite)
            with leaving("interrupted while the signature was chosen: no embedding is saved"):
                selection = choose_signature(
                    data, dim=dim, iterations=iterations, beta=curvature, seed=seed, quiet=quiet,
                    time_limit=time_limit, flat=flat, **machine,
                )  # fmt: skip
        if time_limit is not None:
            time_limit = max(time_limit - selection.seconds, 1e-3)
        geometry |= selection.best.arguments
        if geometry.get("flat"):
            geometry.pop("beta", None)
    with refusing(ValueError, TypeError):
        configs = configure(data, **geometry, seed=seed, preset=preset, **chosen)
    with refusing(MemoryError):
        require_memory(data, configs, device=device, backend=backend, precision=precision)
    task = Task(place, data, configs, _record(data, configs, machine))
    how = task.record["training"]
    if deterministic:
        _check_deterministic(how["backend"], how["device"])
    if selection is None:
        _claim(context, place, overwrite=overwrite)
    task.record["graph"] |= where_from(graph, reading)
    how["time_limit"] = time_limit
    options = {name: str(value) if isinstance(value, Path) else value for name, value in reading.items()}
    task.record.update({"command": shlex.join(context.obj), "reading": options})
    if selection is not None:
        task.record["select"] = selection.to_json()
    _begin(task)
    _train_and_keep(task, threads, checkpoint_every, tensorboard, with_report=with_report, quiet=quiet, as_json=as_json)


def _train_and_keep(
    task: Task,
    threads: int | None,
    checkpoint_every: float | None,
    tensorboard: Path | None,
    *,
    with_report: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    from ..loop import INTERRUPTED
    from ..training.embed import measure_pairs

    asked = _Asked(task)
    with on_interrupt(partial(asked, 130)), on_interrupt(partial(asked, 143), signal.SIGTERM):
        embedding, checkpoints = _train(task, asked, threads, checkpoint_every, tensorboard, quiet=quiet)
        # The pass over all pairs that measures gives δ too, which saving needs.
        measure_pairs(task.graph, embedding, quiet=quiet)
        with refusing(OSError, about="cannot save the embedding: "):
            embedding.save(task.folder, overwrite=True)
    stopped, iterations = embedding.run["stopped"], embedding.run["iterations"]
    # Who asked when the training was over by itself does not want to wait for what comes after it, either.
    left_out = "measuring" if asked.code and stopped != INTERRUPTED else _complete(embedding, task, with_report, quiet)
    if left_out:
        _stop_here(checkpoints)
    if as_json:
        print_json(_report(embedding, task.folder))
    elif not quiet:
        _print_report(embedding, task.graph, task.folder)
    if stopped == INTERRUPTED or left_out:
        resuming = _resuming(task.folder, stopped)
        what = f"interrupted in {left_out}" if left_out else f"interrupted after {iterations} iterations"
        print(f"{what}: the best points so far are in {task.folder}; {resuming} goes on", file=sys.stderr)
        raise typer.Exit(asked.code or 130)


def _resuming(folder: Path, stopped: str) -> str:
    """What goes on with a training."""
    from ..loop import TIME_IS_UP

    more = " --time-limit SECONDS" if stopped.startswith(TIME_IS_UP) else ""
    return f"embed --resume {shlex.quote(str(folder))}{more}"


class _Asked:
    """Whether Ctrl-C or a polite kill came: noted once, for the training and the writing to see; the second time left.

    Before there is anything to keep, the first time.
    """

    def __init__(self, task: Task) -> None:
        self.folder, self.code, self.something = task.folder, 0, task.so_far is not None

    def __call__(self, code: int) -> None:
        if not self.something:
            end("interrupted before there was anything to keep: no embedding is saved", code)
        if self.code:
            end(f"left at once: embed --resume {self.folder} goes on from the last checkpoint", code)
        self.code = code


def _geometry(signature: str | None, dim: int | None, beta: float | None) -> dict[str, Any]:
    """The geometry as ``configure`` takes it."""
    found: dict[str, Any] = {"dim": dim}
    if signature is not None:
        pair = opt.parse_signature(signature)
        if pair is not None and dim is not None:
            raise Refused(f"--signature {signature} says the dimension, {sum(pair)}: leave --dim out")
        found |= {"flat": True} if pair is None else {"p": pair[0], "q": pair[1]}
    if beta is not None:
        if "flat" in found:
            raise Refused("--beta curves a manifold, and --signature flat has no curvature: leave it out")
        if not (math.isfinite(beta) and beta < 0):
            raise Refused(f"--beta {beta:g}: a finite number below 0 is needed, such as -1")
        found["beta"] = beta
    return found


def _check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise Refused(f"--time-limit {time_limit:g}: a number of seconds above 0 is needed")


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


def _check_deterministic(backend: str, device: Any) -> None:
    if backend == "reference" and not str(device).startswith("cpu"):
        raise Refused(f"--deterministic: torch's sums on {device} have no fixed order: use triton or the CPU")


def _check_board(folder: Path | None) -> None:
    """Refuse before work, and before an older embedding makes way, what would fail after."""
    if folder is None:
        return
    from ..training.tensorboard import check_board

    with refusing(FileExistsError, about="--"), refusing(ImportError):
        check_board(folder)


def _check_ids(graph: Graph) -> None:
    """Refuse now what could not be written after the training."""
    for node in graph.ids:
        if not isinstance(node, str | int | float):
            kind = type(node).__name__
            raise Refused(f"{graph.source}: id {node!r} is of type {kind}: make the ids text or numbers")


def _claim(context: typer.Context, folder: Path, *, overwrite: bool) -> None:
    """Make the folder and keep it to ourselves; what is there is kept unless ``overwrite``."""
    from ..embedding.embedding import prepare_folder
    from ..training.checkpoint import CHECKPOINT

    with refusing(OSError, about="cannot write the embedding: "), refusing(FileExistsError):
        if not folder.is_dir():
            prepare_folder(folder, overwrite=overwrite)
        hold(context, folder)
        if (folder / CHECKPOINT).exists() and not overwrite:
            raise Refused(f"{folder} holds a training that is not finished: go on with --resume, or use --overwrite")
        prepare_folder(folder, overwrite=overwrite)


def _record(graph: Graph, configs: list[TrainingConfig], machine: dict[str, Any]) -> dict[str, Any]:
    """What is known before the first iteration."""
    from ..engines.registry import choose_backend
    from ..training.embed import graph_record, versions

    precision = machine["precision"]
    with refusing(ValueError):
        backend, device = choose_backend(
            graph.n_nodes, device=machine["device"], backend=machine["backend"], precision=precision
        )
    return {
        "config": configs[0].to_json(),
        "seed": configs[0].seed,
        "versions": versions(),
        "graph": graph_record(graph),
        "training": {
            "configs": [config.to_json() for config in configs],
            "backend": backend,
            "device": str(device),
            "precision": precision,
        },
        "loss": [],
        "loss_every": 1,
        "stopped": None,
        "measures": {},
        "timing": {"started": time.time()},
    }


def _begin(task: Task) -> None:
    """Write what is known before the first iteration.

    An embedding that is to be overwritten stays whole until the new one is: a folder never mixes two trainings.
    """
    from ..embedding.embedding import TABLE, write_record
    from ..files import check_writable
    from ..training.checkpoint import CHECKPOINT

    with refusing(OSError, about="cannot write the embedding: "):
        if (task.folder / TABLE).exists():
            check_writable(task.folder)
        else:
            write_record(task.folder, task.record)
        (task.folder / CHECKPOINT).unlink(missing_ok=True)


def _train(
    task: Task,
    asked: _Asked,
    threads: int | None,
    checkpoint_every: float | None,
    tensorboard: Path | None,
    *,
    quiet: bool,
) -> tuple[Embedding, Checkpoints]:
    """The embedding, or the end of the command where there is nothing to keep."""
    from ..interrupted import Interrupted
    from ..loop import unfinished
    from ..training.checkpoint import EVERY, Checkpoints
    from ..training.embed import embed_best
    from ..training.tensorboard import with_tensorboard

    how = task.record["training"]
    checkpoints = Checkpoints(task.folder, task.record, EVERY if checkpoint_every is None else checkpoint_every)

    def between(progress: Any) -> None:
        last = asked.code > 0  # a signal from here on is for the next chunk
        asked.something = True
        if board is not None:
            board(progress)
        with refusing(OSError, about="cannot write the checkpoint, the last one stays: "):
            checkpoints(progress)
        if last:
            raise KeyboardInterrupt

    with ExitStack() as stack, refusing(MemoryError):
        with refusing(OSError, about="cannot write for TensorBoard: "):
            board = stack.enter_context(with_tensorboard(tensorboard, task.graph, task.configs, None))
        try:
            embedding = embed_best(
                task.graph, task.configs, quiet=quiet, measures=False, callback=between, so_far=task.so_far,
                threads=threads, device=how["device"], backend=how["backend"], precision=how["precision"],
                time_limit=how["time_limit"],
            )  # fmt: skip
        except Interrupted as interrupted:
            if interrupted.embedding is None:
                raise
            embedding = interrupted.embedding
    if unfinished(embedding.run["stopped"]):
        _stop_here(checkpoints)
    if embedding.run["best_iteration"] < 0:
        print("error: the training diverged from the start: no embedding is saved", file=sys.stderr)
        raise typer.Exit(1)
    embedding.run.update(
        {key: task.record[key] for key in ("graph", "training", "select", "command", "reading") if key in task.record}
    )
    embedding.run["timing"]["started"] = task.record["timing"]["started"]
    return embedding, checkpoints


def _stop_here(checkpoints: Checkpoints) -> None:
    """Write a checkpoint from which the training can go on; what it has reached is saved in any case."""
    try:
        checkpoints.write_latest()
    except OSError as error:
        note(f"cannot write the checkpoint, the last one stays: {reason(error)}")


def _complete(embedding: Embedding, task: Task, with_report: bool, quiet: bool) -> str:
    """Complete the measures and the record and write the report; what Ctrl-C left no time for, if any."""
    import torch

    from ..evaluation import over_nodes
    from ..loop import unfinished
    from ..progress import bar
    from ..report import write_report
    from ..training.checkpoint import CHECKPOINT

    def compare() -> None:
        points = torch.from_numpy(embedding.points.copy())
        embedding.run["measures"] |= over_nodes(task.graph, points, progress=not quiet)

    def report() -> None:
        with bar("report", show=not quiet):
            write_report(embedding, task.folder)

    with refusing(OSError, about="cannot save the embedding: "):
        if cut_short(compare):
            return "measuring"
        embedding.save_record(task.folder)
        if not unfinished(embedding.run["stopped"]):
            (task.folder / CHECKPOINT).unlink(missing_ok=True)
        try:
            if with_report and cut_short(report):
                return "writing the report"
        except ImportError as error:
            note(f"there is no report: {error}")
    return ""


def _report(embedding: Embedding, folder: Path) -> dict[str, Any]:
    """What a script wants to know."""
    from ..loop import unfinished

    run = embedding.run
    top = embedding.hierarchy().head(_TOP)
    return {
        "folder": str(folder),
        "files": [str(file) for file in _files(folder)],
        "graph": run["graph"],
        "config": run["config"],
        "seed": run["seed"],
        "stopped": run["stopped"],
        "unfinished": unfinished(run["stopped"]),
        "iterations": run["iterations"],
        "steps_back": run["steps_back"],
        "nonfinite": run["nonfinite"],
        "best_loss": run["best_loss"],
        "seconds": run["timing"]["seconds"],
        "measures": run["measures"],
        "top": json_rows(top),
    }


def _print_report(embedding: Embedding, graph: Graph, folder: Path) -> None:
    from ..graph.fold import policy_words
    from ..loop import unfinished

    run, config = embedding.run, embedding.run["config"]
    counts = f"{graph.source or 'graph'}: {graph.n_nodes} nodes, {graph.n_edges} edges"
    where = f"R^{config['flat']}" if config["flat"] else f"Q^({config['p']},{config['q']}), beta {config['beta']:g}"
    if unfinished(run["stopped"]):
        print(
            f"unfinished: {run['stopped']} after {run['iterations']} of {config['iterations']} iterations; "
            f"to continue: ultrahyperbolic {_resuming(folder, run['stopped'])}"
        )
    print(counts)
    for policy, count in graph.policies.items():
        print(f"  {policy_words(policy)}: {count}")
    if "select" in run:
        near = run["select"]["within_noise_of"]
        print(
            f"of dimension {config['flat'] or config['p'] + config['q']}, {run['select']['winner']} was chosen"
            + (f"; one seed cannot tell it from {', '.join(near)}" if near else "")
        )
    print(f"embedded on {where}, seed {run['seed']}, in {run['timing']['seconds']:.1f} s: {run['stopped']}")
    if run["nonfinite"]:
        print(f"  values that were not finite: taken back {run['nonfinite']} times, each time with half the step")
    for line in in_words(run["measures"]):
        print(f"  {line}")
    print("\nthe top of the hierarchy:")
    top = embedding.hierarchy().head(_TOP)
    strength = dict(zip(graph.ids, graph.strength, strict=True))
    rows = [
        (str(rank), shown(node), number(delta), f"{strength[node]:g}")
        for node, delta, rank in zip(top["node"], top["delta"], top["rank"], strict=True)
    ]
    print_table(("rank", "node", "delta", "strength"), rows, right=("rank", "delta", "strength"))
    table, record, *report = _files(folder)
    print(f"\nfiles: {table}, {record}")
    for page in report:
        print(f"report, to open in a browser: {page}")


def _files(folder: Path) -> list[Path]:
    """The files of an embedding that are there, the report last."""
    from ..embedding.embedding import RECORD, REPORT, TABLE

    return [path for name in (TABLE, RECORD, REPORT) if (path := folder / name).exists()]


def in_words(measures: dict[str, float]) -> list[str]:
    """The main measures as lines that need no glossary.

    >>> in_words({"violated_orders": 0.0})
    ['a tie is shorter than a non-tie in 100 % of all comparisons']
    """
    lines = []
    if "violated_orders" in measures:
        kept = percent(1 - measures["violated_orders"])
        lines.append(f"a tie is shorter than a non-tie in {kept} of all comparisons")
    elif "violated_orders_all" in measures:
        kept = percent(1 - measures["violated_orders_all"])
        lines.append(f"a stronger tie is shorter than a weaker one in {kept} of all comparisons")
    if "recall_at_1" in measures:
        lines.append(f"the nearest node is a neighbour for {percent(measures['recall_at_1'])} of nodes")
    if "map" in measures:
        lines.append(f"mean average precision of the neighbours {measures['map']:.3f} (1 is best)")
    if "spearman_all" in measures:
        others = {"PageRank": "spearman_all_pagerank", "closeness": "spearman_all_closeness"}
        beside = ", ".join(f"{name} {measures[key]:.3f}" for name, key in others.items() if key in measures)
        text = f"the higher a node, the stronger: Spearman {measures['spearman_all']:.3f}"
        lines.append(f"{text} ({beside})" if beside else text)
    return lines
