"""What several commands can be told, and how its text is read."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, cast, get_type_hints

import typer

from ..options import OPTIONS, Declared
from .errors import Refused, refusing


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option whose help says what its default is."""
    return typer.Option(*names, rich_help_panel=panel, show_default=False, **settings)


def output(default: str, panel: str | None = None) -> Any:
    """The option of the folder to write to."""
    return option("-o", "--output", panel=panel, metavar="FOLDER", help=f"Where to write; default: {default}.")


_graph = typer.Argument(
    metavar="GRAPH",
    show_default=False,
    help="A file (CSV, TSV, blanks, Parquet, GraphML, Matrix Market, and by networkx GML, GEXF, JSON node-link; gzip "
    "and zstd), or the name of a data set. "
    "Where there are both, the file is taken.",
)
GraphArgument = Annotated[str, _graph]
OptionalGraphArgument = Annotated[str | None, _graph]
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", show_default=False, help="The folder that [bold]embed[/bold] wrote.")
]
_embedded = "The graph that was embedded, file or data set; by default looked for where embed read it."
EmbeddedGraph = Annotated[str | None, option("--graph", metavar="GRAPH", help=_embedded)]
TITLE = "The title of the report; default: the name of the graph."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors (and --json).")]
_csv = "Also write the table as CSV that a spreadsheet may open."
Csv = Annotated[Path | None, option("--csv", metavar="FILE", help=_csv)]

_READING = "Reading a file (else found from its content; docs/graphs.md)"


class _Reading(NamedTuple):
    """What the command says of an option of reading, and how it takes it."""

    help: str
    metavar: str | None = None
    kind: Any = str | None

    def parameter(self, name: str) -> inspect.Parameter:
        flag = name.replace("_", "-")
        both = f"--{flag}/--no-{flag}" if self.kind == bool | None else f"--{flag}"
        kind, said = self.kind, option(both, panel=_READING, metavar=self.metavar, help=self.help)
        default = False if kind is bool else None
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, said]
        )


_Repeated = Literal["sum", "max", "first", "error"]
_Asymmetric = Literal["sum", "error"]
_UNWEIGHTED = _Reading("Every weight is 1, whatever the third column holds.", kind=bool)


class Reading(TypedDict, total=False):
    """The options of ``read_graph`` that were given."""

    delimiter: Annotated[str, _Reading("Between columns: one character, tab or whitespace.", "CHAR")]
    header: Annotated[bool, _Reading("Whether the first row names the columns.", kind=bool | None)]
    source: Annotated[str | int, _Reading("One end: a name, or a position from 0.", "COLUMN")]
    target: Annotated[str | int, _Reading("The other end.", "COLUMN")]
    weight: Annotated[
        str | int | Literal[False],
        _Reading("Tie strength: the larger, the closer. In GraphML an attribute.", "COLUMN"),
    ]
    comments: Annotated[str, _Reading("Lines that begin with one are skipped (#%).", "CHARS")]
    encoding: Annotated[str, _Reading("Of text that is not UTF-8: latin-1, cp1252, utf-16, ...", "NAME")]
    nodes: Annotated[
        Path, _Reading("All nodes in the order wanted; labels in a second column.", "FILE", kind=Path | None)
    ]
    repeated: Annotated[
        _Repeated, _Reading("What rows that give an edge again become; default: sum.", kind=_Repeated | None)
    ]
    asymmetric: Annotated[
        _Asymmetric,
        _Reading("What a matrix whose directions differ becomes: C + Cᵀ (sum), or refused.", kind=_Asymmetric | None),
    ]
    weights_are_distances: Annotated[
        bool, _Reading("The smaller, the closer: each tie gets the strength 1/d.", kind=bool)
    ]
    directed: Annotated[bool, _Reading("Ties point from source to target: keep their directions.", kind=bool)]


def _as_given(given: dict[str, Any]) -> Reading:
    """The options that were given, as ``read_graph`` takes them."""
    unweighted = given.pop("unweighted")
    if unweighted and given["weights_are_distances"]:
        raise Refused("--unweighted leaves the weights out, and --weights-are-distances reads them: give one of them")
    if unweighted and given["weight"] is not None:
        raise Refused("--weight names a column and --unweighted leaves it out: give one of them")
    for name in ("source", "target", "weight"):
        if re.fullmatch("[0-9]+", given[name] or ""):
            given[name] = int(given[name])
    given["delimiter"] = {"tab": "\t", "\\t": "\t"}.get(given["delimiter"], given["delimiter"])
    if unweighted:
        given["weight"] = False
    for name in ("weights_are_distances", "directed"):
        given[name] = given[name] or None
    return cast("Reading", {name: value for name, value in given.items() if value is not None})


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading a file; those that are given become its parameter ``reading``."""
    hints = get_type_hints(Reading, include_extras=True)
    parameters = [hint.__metadata__[0].parameter(name) for name, hint in hints.items()]
    parameters.insert(list(hints).index("weight") + 1, _UNWEIGHTED.parameter("unweighted"))
    return _with_parameters(command, "reading", parameters, _as_given)


def trains(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a training, or those of some names: they become its parameter ``asked``."""
    chosen = [OPTIONS[name] for name in names or OPTIONS]
    parameters = [declared.parameter.replace(annotation=_annotated(declared)) for declared in chosen]
    ends = [declared.name for declared in chosen if _ends(declared)]

    def read(given: dict[str, Any]) -> dict[str, Any]:
        for name in ends:
            if given[name] is not None:
                given[name] = parse_ends(f"--{name.replace('_', '-')}", given[name])
        return given

    return lambda command: _with_parameters(command, "asked", parameters, read)


def _annotated(declared: Declared) -> Any:
    """An option as typer takes it."""
    said, name = declared.option, declared.name.replace("_", "-")
    kinds = [kind for kind in (bool, int, float, str) if kind in declared.members]
    kind: Any = Literal[declared.choices] if declared.choices else str if _ends(declared) else kinds[0]
    if said.default is None:
        kind = kind | None
    both = kind == bool | None
    text = re.sub("`(.*?)`", lambda match: f"--{match[1].replace('_', '-')}", said.help)
    return Annotated[
        kind,
        option(
            f"--{name}/--no-{name}" if both else f"--{name}",
            panel=said.panel,
            metavar=said.metavar,
            min=said.least,
            help=text if said.default in (None, False) else f"{text} Default: {said.default}.",
        ),
    ]


def _ends(declared: Declared) -> bool:
    """Whether it is one value, or the first and the last."""
    return tuple[float, float] in declared.members


def _with_parameters(
    command: Callable[..., None],
    name: str,
    parameters: Sequence[inspect.Parameter],
    read: Callable[[dict[str, Any]], object],
) -> Callable[..., None]:
    """A command that has further parameters; what ``read`` makes of them becomes its own parameter ``name``."""
    own = dict(inspect.signature(command, eval_str=True).parameters)
    del own[name]

    @functools.wraps(command)
    def with_parameters(**given: Any) -> None:
        found = read({each.name: given[each.name] for each in parameters})
        command(**{each: given[each] for each in own}, **{name: found})

    together = [each.replace(kind=each.KEYWORD_ONLY) for each in (*own.values(), *parameters)]
    with_parameters.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
    with_parameters.__annotations__ = {each.name: each.annotation for each in together}
    return with_parameters


def device_kind(device: str) -> str:
    """``"cpu"``, ``"cuda"`` or another kind of device that is there.

    >>> device_kind("cpu:0")
    'cpu'
    """
    from ..engines.registry import find_device

    with refusing(ValueError):
        return find_device(device).type


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
