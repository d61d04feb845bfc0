"""What several commands can be told, and how its text is read."""

import functools
import inspect
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast, get_args, get_type_hints

import typer

from ..options import GOAL_IS_IGNORED, OPTIONS, Declared, Option
from .errors import Refused, refusing
from .output import note


def option(*names: str, panel: str | None = None, rare: bool = False, **settings: Any) -> Any:
    """An option whose help says what its default is; a ``rare`` one is for ``--help-all`` and
    shells alone.
    """
    if settings.get("min") is not None:
        settings["metavar"] = settings.get("metavar") or "N"
    hidden = rare and "_ULTRAHYPERBOLIC_COMPLETE" not in os.environ
    return typer.Option(
        *names, rich_help_panel=panel, show_default=False, hidden=hidden, **settings
    )


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        rare = [each for each in context.command.params if getattr(each, "hidden", False)]
        hidden: list[Any] = [each for each in rare if getattr(each, "help", None) is not None]
        for parameter in hidden:
            parameter.hidden = False
        print(context.get_help())
        for parameter in hidden:
            parameter.hidden = True
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_show_all, help="Show all options and exit."
    ),
]


def output(default: str, panel: str | None = None) -> Any:
    """The option of the folder to write to."""
    return option(
        "-o", "--output", panel=panel, metavar="FOLDER", help=f"Where to write. Default: {default}."
    )


_graph = typer.Argument(
    metavar="GRAPH",
    show_default=False,
    help="A file (CSV, TSV, Parquet, GraphML, ...), or a data set.",
)
GraphArgument = Annotated[str, _graph]
OptionalGraphArgument = Annotated[str | None, _graph]
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", show_default=False, help="The folder that embed wrote.")
]
TITLE = "The title of the report; default: the last one given, or the name of the graph."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but warnings and errors.")]
_csv = "Also write the table as CSV, safe to open in a spreadsheet."
Csv = Annotated[Path | None, option("--csv", metavar="FILE", help=_csv)]
# An option of version 0.2, which no help shows.
Goal = Annotated[str | None, typer.Option("--goal", hidden=True)]


def _reading(
    help: str, metavar: str | None = None, *, default: Any = None, common: bool = False
) -> Option:
    return Option(
        "Reading the graph (docs/graphs.md)", help, default, metavar=metavar, common=common
    )


_UNWEIGHTED = _reading("Ignore weights: all ties are equally strong.", default=False)


class Reading(TypedDict, total=False):
    """The options of ``read_graph`` that were given."""

    delimiter: Annotated[
        str,
        _reading("Between columns: one character, tab or whitespace. Default: detected.", "CHAR"),
    ]
    header: Annotated[bool, _reading("Whether the first row names the columns. Default: detected.")]
    source: Annotated[
        str | int,
        _reading(
            "Column of one end: its name, or its position from 1. Default: detected.", "COLUMN"
        ),
    ]
    target: Annotated[str | int, _reading("Column of the other end. Default: detected.", "COLUMN")]
    weight: Annotated[
        str | int | Literal[False],
        _reading(
            "Column of the tie strength: the larger, the closer.",
            "COLUMN",
            common=True,
        ),
    ]
    comments: Annotated[
        str, _reading("Skip lines that begin with one of these. Default: #%.", "CHARS")
    ]
    encoding: Annotated[
        str, _reading("Encoding of text: latin-1, cp1252, utf-16, ... Default: utf-8.", "NAME")
    ]
    skip_bad_rows: Annotated[
        bool,
        _reading(
            "Leave out rows that cannot be read, and say how many. Default: stop at the first.",
            default=False,
        ),
    ]
    nodes: Annotated[
        Path,
        _reading(
            "A list of all nodes, in the order you want, with labels in a second column.", "FILE"
        ),
    ]
    repeated: Annotated[
        Literal["sum", "max", "first", "error"],
        _reading("How to combine rows that repeat a tie. Default: sum.", "sum|max|first|error"),
    ]
    asymmetric: Annotated[
        Literal["sum", "error"],
        _reading(
            "How to combine two directions that differ. Default: sum.",
            "sum|error",
        ),
    ]
    weights_are_distances: Annotated[
        bool,
        _reading(
            "Weights are distances or costs: a tie gets the strength 1/d.",
            default=False,
            common=True,
        ),
    ]
    directed: Annotated[
        bool,
        _reading(
            "Ties point from source to target: keep their directions.", default=False, common=True
        ),
    ]


def _as_given(given: dict[str, Any]) -> Reading:
    """The options that were given, as ``read_graph`` takes them."""
    unweighted = given.pop("unweighted")
    if unweighted and given["weights_are_distances"]:
        raise Refused(
            "--unweighted leaves the weights out, and --weights-are-distances reads them: give "
            "one of them"
        )
    if unweighted and given["weight"] is not None:
        raise Refused("--weight names a column and --unweighted leaves it out: give one of them")
    given["delimiter"] = {"tab": "\t", "\\t": "\t"}.get(given["delimiter"], given["delimiter"])
    switched_off = {name for name, value in given.items() if value is False} - {"header"}
    found = {
        name: value
        for name, value in given.items()
        if value is not None and name not in switched_off
    }
    return cast("Reading", found | ({"weight": False} if unweighted else {}))


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading a file; those that are given become its parameter
    ``reading``.
    """
    hints = get_type_hints(Reading, include_extras=True)
    declared = [Declared(name, *get_args(hint)) for name, hint in hints.items()]
    declared.insert(list(hints).index("weight") + 1, Declared("unweighted", bool, _UNWEIGHTED))
    return _with_parameters(command, "reading", list(map(_parameter, declared)), _as_given)


def trains(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a training, or those of some names: they become its parameter
    ``asked``.
    """
    chosen = [_parameter(OPTIONS[name]) for name in names or OPTIONS]
    return lambda command: _with_parameters(command, "asked", chosen, dict)


def _parameter(declared: Declared) -> inspect.Parameter:
    """An option as typer takes it."""
    said, name = declared.option, declared.name.replace("_", "-")
    kinds = [kind for kind in (str, bool, int, float, Path) if kind in declared.members]
    kind: Any = Literal[declared.choices] if declared.choices else kinds[0]
    parser: Callable[[str], object] | None = None
    if tuple[float, float] in declared.members:
        parser = functools.partial(parse_ends, f"--{name}")
    elif {str, int} <= set(kinds):  # a column
        parser = functools.partial(parse_column, f"--{name}")
    if said.default is None:
        kind = kind | None
    both = kind == bool | None
    text = re.sub("`(.*?)`", lambda match: f"--{match[1].replace('_', '-')}", said.help)
    said_of = option(
        f"--{name}/--no-{name}" if both else f"--{name}",
        panel=said.panel,
        rare=not said.common,
        metavar=said.metavar,
        min=said.least,
        parser=parser,
        help=text
        if said.default is None or said.default is False
        else f"{text} Default: {said.default}.",
    )
    return declared.parameter.replace(annotation=Annotated[kind, said_of])


def _with_parameters(
    command: Callable[..., None],
    name: str,
    parameters: Sequence[inspect.Parameter],
    read: Callable[[dict[str, Any]], object],
) -> Callable[..., None]:
    """A command that has further parameters; what ``read`` makes of them becomes its own parameter
    ``name``.
    """
    own = dict(inspect.signature(command, eval_str=True).parameters)
    del own[name]

    @functools.wraps(command)
    def with_parameters(**given: Any) -> None:
        found = read({each.name: given[each.name] for each in parameters})
        command(**{each: given[each] for each in own}, **{name: found})

    return _signed(with_parameters, [*own.values(), *parameters])


def with_help_all(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has ``--help-all``, too."""
    own = inspect.signature(command, eval_str=True).parameters.values()

    @functools.wraps(command)
    def whole(*, help_all: bool, **given: Any) -> None:  # which has been shown by now
        command(**given)

    shows = inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll
    )
    return _signed(whole, [*own, shows])


def _signed(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """The same, with these parameters as typer sees them."""
    named = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in named}
    return command


def check_goal(goal: str | None, *, quiet: bool) -> None:
    """Note that --goal, of earlier versions, changes nothing."""
    if goal is not None and not quiet:
        note(f"--{GOAL_IS_IGNORED}")


def check_device(device: str) -> None:
    """Refuse a device that is not there."""
    from ..engines.registry import find_device

    with refusing(ValueError):
        find_device(device)


def parse_column(name: str, text: str) -> str | int:
    """The name of a column, or its position, which the command counts from 1 and Python from 0.

    >>> parse_column("--weight", "calls"), parse_column("--weight", "3")
    ('calls', 2)
    """
    if not re.fullmatch("[0-9]+", text):
        return text
    if int(text) == 0:
        raise Refused(f"{name} {text}: columns count from 1")
    return int(text) - 1


def parse_ends(name: str, text: str) -> float | tuple[float, float]:
    """One value, or those at the start and at the end of a training.

    >>> parse_ends("--temperature", "0.1,0.01"), parse_ends("--temperature", "0.01")
    ((0.1, 0.01), 0.01)
    """
    try:
        first, *rest = (float(part) for part in text.split(","))
        if not rest:
            return first
        (last,) = rest
    except ValueError:
        raise Refused(f"{name} {text}: write one number, or start,end such as 0.1,0.01") from None
    return first, last
