"""``embed``: from a graph to a folder with its embedding."""

import math
import shlex
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..options import Options
from ..progress import bar
from . import options as opt
from .errors import Refused, refusing
from .signals import leaving
from .sources import as_given, find_graph, graph_name, open_embedding, where_from
from .together import left_behind, together
from .training import Keeping, Task, begin, claim, train_and_keep
from .training import resume as continue_training

_training, _result = partial(opt.option, panel="Training"), partial(opt.option, panel="Result")
_CONTINUE = "Start from an earlier embedding of this graph."
_DETERMINISTIC = "Stop with an error if the same seed may not give the same bits."
_RESUME = "Continue the training in this folder."
_EVERY = "How often to write a checkpoint. Default: 10."
_REPORT = "Whether to write the HTML report. Default: yes."


@together
@opt.reads_graph
@opt.trains()
def embed(
    context: typer.Context,
    graph: opt.OptionalGraphArgument = None,
    deterministic: Annotated[
        bool, _training("--deterministic", rare=True, help=_DETERMINISTIC)
    ] = False,
    output: Annotated[Path | None, opt.output("out/NAME OF THE GRAPH", "Result")] = None,
    overwrite: Annotated[
        bool, _result("--overwrite", help="Replace an embedding that is already there.")
    ] = False,
    continue_from: Annotated[
        Path | None, _training("--continue-from", rare=True, metavar="FOLDER", help=_CONTINUE)
    ] = None,
    resume: Annotated[Path | None, _result("--resume", metavar="FOLDER", help=_RESUME)] = None,
    checkpoint_every: Annotated[
        float | None, _result("--checkpoint-every", rare=True, metavar="SECONDS", help=_EVERY)
    ] = None,
    with_report: Annotated[bool, _result("--report/--no-report", rare=True, help=_REPORT)] = True,
    title: Annotated[str | None, _result("--title", rare=True, help=opt.TITLE)] = None,
    goal: opt.Goal = None,
    quiet: Annotated[
        bool, _result("--quiet", help="Print nothing but warnings and errors.")
    ] = False,
    as_json: opt.Json = False,
    *,
    asked: Options,
    reading: opt.Reading,
) -> None:
    """Embed a graph: place its nodes so that strong ties are short.

    A weight is the strength of a tie: the larger, the closer. If yours are
    distances or costs, pass --weights-are-distances (docs/graphs.md).

    The output folder gets embedding.parquet (node, coordinates, delta,
    rank, and the ties), run.json (settings, versions, measures) and
    report.html, to open in a browser. Ctrl-C and --time-limit keep the best points so far;
    --resume continues from there.

    Examples:
      ultrahyperbolic embed karate -o club
      ultrahyperbolic embed ties.tsv --signature 3,1 --seed 7 -o club
      ultrahyperbolic embed ties.csv --weight calls --iterations 5000
      ultrahyperbolic embed roads.csv --weight km --weights-are-distances
      ultrahyperbolic embed karate --preset paper --signature 2,2 -o out/paper
      ultrahyperbolic embed roads.tsv --unweighted --time-limit 60 --json
      ultrahyperbolic embed new_ties.tsv --continue-from club -o club2
      ultrahyperbolic embed --resume club
    """
    began, keeping = time.monotonic(), Keeping(checkpoint_every, with_report, title, quiet, as_json)
    if checkpoint_every is not None and not checkpoint_every >= 0:
        raise Refused(
            f"--checkpoint-every {checkpoint_every:g}: a number of seconds of at least 0 is needed"
        )
    time_limit = asked["time_limit"]
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise Refused(f"--time-limit {time_limit:g}: a number of seconds above 0 is needed")
    if resume is not None:
        continue_training(context, resume, time_limit, asked["threads"], keeping)
        return
    opt.check_goal(goal, quiet=quiet)
    if graph is None:
        raise Refused("Missing argument 'GRAPH' (see ultrahyperbolic embed --help)")
    context.with_resource(
        bar(f"embedding {graph}", show=not quiet)
    )  # between the bars of the steps, too
    folder, command = output or Path("out") / graph_name(graph), shlex.join(context.obj)
    left = left_behind(folder, command)
    if left == "a checkpoint":
        continue_training(context, folder, None, asked["threads"], keeping, again=True)
        return
    overwrite = overwrite or left == "a beginning"

    from ..engines.registry import resolve
    from ..graph import GraphError
    from ..training.execution import Execution
    from ..training.inputs import Choice
    from ..training.plan import Plan
    from ..training.select import choose

    old = None if continue_from is None else open_embedding(continue_from)
    with refusing(ValueError, TypeError):
        plan = Plan.of(old, **asked)
        resolve(plan.machine, 0)  # that it is there
    data = find_graph(graph, reading, quiet=quiet)
    with refusing(GraphError):
        data.require_trainable()
    for node in data.ids:  # what could not be written after the training
        if not isinstance(node, str | int | float):
            raise Refused(
                f"{data.source}: id {node!r} is of type {type(node).__name__}: make the ids text "
                "or numbers"
            )
    with refusing(ValueError, TypeError):
        execution = Execution(plan, data, quiet=quiet, began=began)
    machine = execution.machine
    if deterministic and machine.backend == "reference" and machine.device_type != "cpu":
        raise Refused(
            f"--deterministic: torch's sums on {machine.device} have no fixed order: use triton "
            "or the CPU"
        )
    if isinstance(plan.where, Choice):
        claim(context, folder, overwrite=overwrite)
        with (
            refusing(ValueError, TypeError, MemoryError),
            leaving("interrupted while the signature was chosen: no embedding is saved"),
        ):
            choose(execution)
    with refusing(MemoryError):
        record = execution.prepare()
    if execution.selection is None:
        claim(context, folder, overwrite=overwrite)
    about = None if record.graph is None else where_from(record.graph, graph, reading)
    record = replace(record, graph=about, command=command, title=title, reading=as_given(reading))
    task = Task(folder, execution, record)
    begin(task)
    train_and_keep(task, keeping)
