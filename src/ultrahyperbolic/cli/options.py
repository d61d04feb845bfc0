"""What several commands can be told, and how its text is read."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast

import typer

from ..options import OPTIONS, Declared
from .errors import Refused, refusing

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
EmbeddedGraph = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="GRAPH",
        show_default=False,
        help="The graph that was embedded, file or data set; by default looked for where embed read it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv", metavar="FILE", show_default=False, help="Also write the table as CSV that a spreadsheet may open."
    ),
]

_READING = "Reading a file (else found from its content; docs/graphs.md)"


def _reading(*names: str, metavar: str | None = None, help: str) -> object:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=_READING, show_default=False)


Delimiter = Annotated[
    str | None, _reading("--delimiter", metavar="CHAR", help="Between columns: one character, tab or whitespace.")
]
Header = Annotated[bool | None, _reading("--header/--no-header", help="Whether the first row names the columns.")]
Source = Annotated[str | None, _reading("--source", metavar="COLUMN", help="One end: a name, or a position from 0.")]
Target = Annotated[str | None, _reading("--target", metavar="COLUMN", help="The other end.")]
Weight = Annotated[
    str | None,
    _reading("--weight", metavar="COLUMN", help="Tie strength: the larger, the closer. In GraphML an attribute."),
]
Unweighted = Annotated[bool, _reading("--unweighted", help="Every weight is 1, whatever the third column holds.")]
Comments = Annotated[
    str | None, _reading("--comments", metavar="CHARS", help="Lines that begin with one are skipped (#%).")
]
Encoding = Annotated[
    str | None, _reading("--encoding", metavar="NAME", help="Of text that is not UTF-8: latin-1, cp1252, utf-16, ...")
]
Nodes = Annotated[
    Path | None, _reading("--nodes", metavar="FILE", help="All nodes in the order wanted; labels in a second column.")
]
Repeated = Annotated[
    Literal["sum", "max", "first", "error"] | None,
    _reading("--repeated", help="What rows that give an edge again become; default: sum."),
]
Asymmetric = Annotated[
    Literal["sum", "error"] | None,
    _reading("--asymmetric", help="What a matrix whose directions differ becomes: C + Cᵀ (sum), or refused."),
]

Distances = Annotated[
    bool, _reading("--weights-are-distances", help="The smaller, the closer: each tie gets the strength 1/d.")
]


class Reading(TypedDict, total=False):
    """The options of ``read_graph`` that were given."""

    delimiter: str
    header: bool
    source: str | int
    target: str | int
    weight: str | int | Literal[False]
    comments: str
    encoding: str
    nodes: Path
    repeated: Literal["sum", "max", "first", "error"]
    asymmetric: Literal["sum", "error"]
    weights_are_distances: bool


@dataclass(frozen=True)
class _ReadingOptions:
    """What a command can be told of reading a file."""

    delimiter: Delimiter = None
    header: Header = None
    source: Source = None
    target: Target = None
    weight: Weight = None
    unweighted: Unweighted = False
    comments: Comments = None
    encoding: Encoding = None
    nodes: Nodes = None
    repeated: Repeated = None
    asymmetric: Asymmetric = None
    weights_are_distances: Distances = False

    def given(self) -> Reading:
        """What was said, as ``read_graph`` takes it."""
        if self.unweighted and self.weights_are_distances:
            raise Refused(
                "--unweighted leaves the weights out, and --weights-are-distances reads them: give one of them"
            )
        if self.unweighted and self.weight is not None:
            raise Refused("--weight names a column and --unweighted leaves it out: give one of them")
        options = {
            "delimiter": {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter),
            "header": self.header,
            "source": _column(self.source),
            "target": _column(self.target),
            "weight": False if self.unweighted else _column(self.weight),
            "comments": self.comments,
            "encoding": self.encoding,
            "nodes": self.nodes,
            "repeated": self.repeated,
            "asymmetric": self.asymmetric,
            "weights_are_distances": self.weights_are_distances or None,
        }
        return cast("Reading", {name: value for name, value in options.items() if value is not None})


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading a file; those that are given become its parameter ``reading``."""
    options = inspect.signature(_ReadingOptions, eval_str=True).parameters
    read: Callable[..., _ReadingOptions] = _ReadingOptions
    return _with_parameters(command, "reading", list(options.values()), lambda given: read(**given).given())


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
    option, name = declared.option, declared.name.replace("_", "-")
    kinds = [kind for kind in (bool, int, float, str) if kind in declared.members]
    kind: Any = Literal[declared.choices] if declared.choices else str if _ends(declared) else kinds[0]
    if declared.option.default is None:
        kind = kind | None
    both = kind == bool | None
    text = re.sub("`(.*?)`", lambda match: f"--{match[1].replace('_', '-')}", option.help)
    return Annotated[
        kind,
        typer.Option(
            f"--{name}/--no-{name}" if both else f"--{name}",
            metavar=option.metavar,
            min=option.least,
            help=text if option.default in (None, False) else f"{text} Default: {option.default}.",
            rich_help_panel=option.panel,
            show_default=False,
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


def _column(text: str | None) -> str | int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]+", text) else text


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
