"""Every option of a training, declared once for `embed`, the command and scikit-learn, without
waiting for torch.

An option that has the name of a field of `TrainingConfig` replaces what the method would set there.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    import torch

    Device = torch.device
else:
    Device = object

Backend = Literal["auto", "numba", "triton", "reference"]
By = Literal["graph", "links"]
Dissimilarity = Literal["geodesic", "smoothed", "broken", "cone-rule", "extrinsic", "distance"]
"""D_γ (Eq. 9), D_γ smoothed on the light cone, the broken geodesic, the authors' rule near the
cone, the extrinsic distance (Eq. 4), and the length of the geodesic (Eq. 8).
"""
Optimizer = Literal["descent", "gradient", "phi", "signed-gradient"]
Precision = Literal["float64", "float32"]
Preset = Literal["paper", "paper-text"]
Signature = str | tuple[int, int]
Stop = Literal["converged", "iterations", "ordered"]
Ends = float | tuple[float, float]
"""One value, or the values at the start and at the end of a training."""

P = ParamSpec("P")
R = TypeVar("R")
Given = TypeVar("Given", bound=Mapping[str, object])


# What stands in docstrings for all options; pages that are made from the source alone show it.
_REFERENCE = "    **options\n        Those of `ultrahyperbolic.options.Options`.\n"


# What is said where somebody gives an option of earlier versions.
GOAL_IS_IGNORED = (
    "goal no longer changes anything: there is one map for all purposes now, so leave it out"
)


class Option(NamedTuple):
    """What is said of an option; other options are named in backticks."""

    panel: str
    help: str
    default: Any = None
    least: int | None = None
    metavar: str | None = None
    common: bool = (
        False  # whether most users may want it: then the short help of the command names it
    )


_computing, _geometry, _training = (
    partial(Option, panel) for panel in ("Computing", "Geometry", "Training")
)


class Compared(TypedDict, total=False):
    """The options that a comparison of geometries takes, too."""

    by: Annotated[
        By,
        _geometry(
            "How `dim` compares geometries: by the whole graph, or by held-out ties.",
            "graph",
        ),
    ]
    seed: Annotated[
        int,
        _training(
            "The same seed gives the same points on the CPU, for any number of threads.", 0, least=0
        ),
    ]
    beta: Annotated[
        float | None, _geometry("A negative number; 1/β is the curvature. Default: -1.")
    ]
    popularity: Annotated[
        bool | None,
        _training(
            "Learn a bias for each node. Default: yes, but in flat space.",
        ),
    ]
    device: Annotated[
        str | Device | None,
        _computing("cpu or cuda. Default: cuda for a large graph if there is a GPU, else cpu."),
    ]
    backend: Annotated[
        Backend,
        _computing(
            "What computes; auto is the fastest that fits.",
            default="auto",
        ),
    ]
    threads: Annotated[
        int | None,
        _computing("CPU threads; they do not change the result. Default: all cores.", least=1),
    ]
    precision: Annotated[
        Precision | None,
        _computing("Precision of the distances. Default: float32 on a GPU."),
    ]
    time_limit: Annotated[
        float | None,
        _training(
            "Seconds for the whole command, give or take a few.",
            metavar="SECONDS",
            common=True,
        ),
    ]


class Options(Compared, total=False):
    """The options of a training that were given, or all of them after `complete`."""

    p: Annotated[int | None, _geometry("Space dimensions of Q^(p,q); give `q` too.", least=0)]
    q: Annotated[
        int | None, _geometry("Time dimensions of Q^(p,q), minus one; give `p` too.", least=0)
    ]
    dim: Annotated[
        int | None,
        _geometry(
            "Choose the best geometry of so many dimensions, as select does.",
            least=1,
            common=True,
        ),
    ]
    flat: Annotated[
        bool,
        _geometry(
            "Use Euclidean space; δ and the measures then use squared distances.", default=False
        ),
    ]
    signature: Annotated[
        Signature | None,
        _geometry(
            "The geometry: p,q or flat. Default: 3,3; more for large graphs.",
            metavar="P,Q",
            common=True,
        ),
    ]
    seeds: Annotated[
        int,
        _training(
            "Train so often, from `seed` on, and keep the lowest loss.",
            default=1,
            least=1,
            common=True,
        ),
    ]
    preset: Annotated[
        Preset | None,
        _training("The recipe of the authors' scripts, or of the paper's text."),
    ]
    optimizer: Annotated[
        Optimizer | None,
        _training(
            "How points move. Default: descent, along -χ.",
        ),
    ]
    iterations: Annotated[
        int | None,
        _training(
            "At most this many. Default: 1,600 to 4,000.",
            least=1,
        ),
    ]
    temperature: Annotated[
        Ends | None,
        _training("τ, or its first and last value. Default: chosen for the graph.", metavar="TAU"),
    ]
    dissimilarity: Annotated[
        Dissimilarity | None,
        _training(
            "The distance in the loss. Default: smoothed.",
        ),
    ]
    epsilon: Annotated[
        Ends | None,
        _training("Smoothing at the light cone, or its first and last value.", metavar="EPS"),
    ]
    step: Annotated[float | None, _training("Step size. Default: 0.1, or that of the preset.")]
    max_step: Annotated[
        Ends | None,
        _training(
            "Longest move of a point in one step, or its first and last value.", metavar="LENGTH"
        ),
    ]
    stop: Annotated[
        Stop | None,
        _training(
            "When to stop. Default: converged.",
        ),
    ]


class Declared(NamedTuple):
    """An option as it is declared."""

    name: str
    type: Any
    option: Option

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, if it is one of a few."""
        words = (
            word for part in self.members if get_origin(part) is Literal for word in get_args(part)
        )
        return tuple(word for word in words if isinstance(word, str))

    @property
    def members(self) -> tuple[Any, ...]:
        """The alternatives of its type: those of a union, or itself."""
        if get_origin(self.type) in (Literal, tuple) or not get_args(self.type):
            return (self.type,)
        return tuple(
            member for part in get_args(self.type) for member in self._replace(type=part).members
        )

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of a call that takes it by its name."""
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=self.option.default,
            annotation=self.type,
        )


_HINTS = get_type_hints(Options, include_extras=True)
OPTIONS = {name: Declared(name, *get_args(hint)) for name, hint in _HINTS.items()}


def complete(given: Mapping[str, Any]) -> Options:
    """All options, with the default where one was not given; ``TypeError`` for a name that is no
    option.
    """
    if unknown := sorted(set(given) - set(OPTIONS)):
        raise TypeError(f"there is no option {unknown[0]!r}; the options are {', '.join(OPTIONS)}")
    defaults = {name: declared.option.default for name, declared in OPTIONS.items()}
    return cast("Options", defaults | dict(given))


def without_goal(given: Given) -> Given:
    """The options that were given, less the ``goal`` of earlier versions, which the caller's caller
    is warned about.
    """
    if "goal" in given:
        warnings.warn(GOAL_IS_IGNORED, FutureWarning, stacklevel=3)
    return cast("Given", {name: value for name, value in given.items() if name != "goal"})


def takes_options(call: Callable[P, R]) -> Callable[P, R]:
    """Put the options into the signature and the docstring of a call that takes them as
    ``**options``.
    """
    own = [
        each
        for each in inspect.signature(call).parameters.values()
        if each.kind is not each.VAR_KEYWORD
    ]
    options = [
        declared.parameter
        for name, declared in OPTIONS.items()
        if name not in {each.name for each in own}
    ]
    call.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    if call.__doc__:
        call.__doc__ = described(call.__doc__)
    return call


def described(docstring: str) -> str:
    r"""A docstring with the options in place of the lines that refer to them, in the style of
    numpy.

    >>> text = described(_REFERENCE)
    >>> "    p : int, optional\n        Space dimensions of Q^(p,q); give ``q`` too.\n" in text
    True
    """
    lines = []
    for declared in OPTIONS.values():
        lines.append(f"    {declared.name} : {_in_words(declared)}")
        lines += textwrap.wrap(
            re.sub("`(.*?)`", r"``\1``", declared.option.help),
            112,
            initial_indent=" " * 8,
            subsequent_indent=" " * 8,
        )
    return docstring.replace(_REFERENCE, "\n".join([*lines, ""]))


def _in_words(declared: Declared) -> str:
    names = [repr(word) for word in declared.choices] or [
        "(float, float)"
        if get_origin(part) is tuple and float in get_args(part)
        else "(int, int)"
        if get_origin(part) is tuple
        else part.__name__
        for part in declared.members
        if part not in (object, type(None))
    ]
    default = declared.option.default
    return " or ".join(names) + (", optional" if default is None else f", default {default!r}")
