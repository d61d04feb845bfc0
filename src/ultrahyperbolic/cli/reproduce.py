"""``reproduce``: the figures of the paper, each by its name."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..checks import suggestion
from .errors import Refused, refusing
from .options import check_device, option
from .options import output as out
from .output import print_json, print_table
from .signals import leaving

_STDOUT = Path("-")

_training = partial(option, panel="Training (table2 and table3)")
_LOSS = "exact, or 42,000 untied pairs per tie, drawn anew in each iteration. Default: exact."


def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            show_default=False,
            help="What to reproduce. Default: list all targets.",
        ),
    ] = None,
    seeds: Annotated[
        int | None, option("--seeds", min=1, help="How many seeds. Default: depends on the target.")
    ] = None,
    output: Annotated[Path | None, out("out/TARGET")] = None,
    loss: Annotated[Literal["exact", "sampled"] | None, _training("--loss", help=_LOSS)] = None,
    iterations: Annotated[
        int | None,
        _training("--iterations", min=1, help="How many iterations. Default: as in the paper."),
    ] = None,
    device: Annotated[
        str | None, _training("--device", help="cpu or cuda. Default: cuda if there is a GPU.")
    ] = None,
    threads: Annotated[
        int | None,
        _training("--threads", min=1, help="CPU threads. Default: all; one for the sampled loss."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    json_file: Annotated[
        Path | None,
        option(
            "--json",
            metavar="FILE",
            help="Write the figures as one flat JSON object; - for stdout.",
        ),
    ] = None,
) -> None:
    """Reproduce the tables and figures of the paper.

    The weights of the graphs are tie strengths, as everywhere
    (docs/graphs.md).

    Examples:
      ultrahyperbolic reproduce
      ultrahyperbolic reproduce table1 --seeds 20 -o out/table1
      ultrahyperbolic reproduce table2 --device cuda --seeds 5
      ultrahyperbolic reproduce figure1 -o out/figure1
      ultrahyperbolic reproduce timing --json timing.json
    """
    from ..paper import TARGETS, write_figures

    if target is None:
        print_table(
            ("target", "what it is"), [(name, found.description) for name, found in TARGETS.items()]
        )
        return
    if target not in TARGETS:
        near = suggestion(target, TARGETS) or f"; there are {', '.join(TARGETS)}"
        raise Refused(f"no target {target!r}{near}")
    if seeds is not None and not TARGETS[target].seeded:
        raise Refused(f"--seeds does not apply to {target}, which trains nothing: leave it out")
    asked = {"loss": loss, "iterations": iterations, "device": device, "threads": threads}
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    for name in options:
        if name not in TARGETS[target].options:
            knowing = [other for other, found in TARGETS.items() if name in found.options]
            raise Refused(f"--{name} applies to {' and '.join(knowing)} only: leave it out")
    if device is not None:
        check_device(device)
    folder = output or Path("out") / target
    with refusing(OSError, about="cannot write the results: "):
        folder.mkdir(parents=True, exist_ok=True)
    if json_file is not None and json_file != _STDOUT:  # before the work, not after it
        if json_file.is_dir():
            raise Refused(f"--json {json_file}: this is a folder; name a file")
        if not json_file.parent.is_dir() or not os.access(json_file.parent, os.W_OK):
            raise Refused(
                f"--json {json_file}: the folder {json_file.parent} is not there or cannot be "
                "written to"
            )
    from ..graph import GraphError

    # One seed has no spread, which some targets refuse; any other ValueError is a bug.
    expected = (GraphError, ImportError, ValueError) if seeds == 1 else (GraphError, ImportError)
    interrupted = leaving(f"interrupted: the results in {folder} are not complete")
    with interrupted, refusing(OSError, about="cannot write the results: "), refusing(*expected):
        figures = TARGETS[target].run(seeds, folder, quiet or json_file == _STDOUT, **options)
    if json_file == _STDOUT:
        print_json(figures)
    elif json_file is not None:
        with refusing(OSError, about="cannot write the figures: "):
            write_figures(json_file, figures)
