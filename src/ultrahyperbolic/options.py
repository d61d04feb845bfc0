"""Every option of a training, declared once: `embed`, the command and scikit-learn get their parameters from here.

An option that has the name of a field of `TrainingConfig` replaces what the method would set there. This module loads
nothing, so that the command's help need not wait for torch.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
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

Backend = Literal["auto", "numba", "triton", "reference", "sampled"]
By = Literal["graph", "links"]
Dissimilarity = Literal["geodesic", "smoothed", "broken", "cone-rule", "extrinsic", "distance"]
"""D_γ (Eq. 9), D_γ smoothed on the light cone, the broken geodesic, the authors' rule near the cone, the extrinsic
distance (Eq. 4), and the length of the geodesic (Eq. 8)."""
Goal = Literal["balanced", "hierarchy", "neighbours", "ties"]
GivenGoal = Goal | Literal["neighbors"]
"""As users may spell it."""
Optimizer = Literal["descent", "gradient", "phi", "signed-gradient"]
Precision = Literal["float64", "float32"]
Preset = Literal["paper", "paper-text"]
Scope = Literal["graph", "node"]
Signature = str | tuple[int, int]
Stop = Literal["converged", "iterations", "ordered"]
Ends = float | tuple[float, float]
"""One value, or the values at the start and at the end of a training."""

P = ParamSpec("P")
R = TypeVar("R")
Panel = Literal["Geometry", "Training", "Computing"]


# What stands in docstrings for all options; pages that are made from the source alone show it.
_REFERENCE = "    **options\n        Those of `ultrahyperbolic.options.Options`.\n"


class Option(NamedTuple):
    """What is said of an option; other options are named in backticks."""

    panel: Panel
    help: str
    default: Any = None
    least: int | None = None
    metavar: str | None = None


class Compared(TypedDict, total=False):
    """The options that a comparison of geometries takes, too."""

    goal: Annotated[
        GivenGoal,
        Option("Training", "What the embedding is for; with `dim`, also what geometries are judged by.", "balanced"),
    ]
    by: Annotated[
        By, Option("Geometry", "With `dim`: judge by the graph itself, or by ties that are held out.", default="graph")
    ]
    seed: Annotated[
        int,
        Option("Training", "Same seed, same points on the CPU, for any number of threads.", default=0, least=0),
    ]
    beta: Annotated[float | None, Option("Geometry", "Negative; 1/β is the curvature. Default: -1.")]
    popularity: Annotated[
        bool | None,
        Option(
            "Training",
            "Learn an offset a_i of each node, which is part of every distance, d_ij - a_i - a_j: hubs find room for "
            "their many ties. Default: yes, but for the presets.",
        ),
    ]
    device: Annotated[
        str | Device | None,
        Option("Computing", "cpu or cuda. Default: the CPU, or CUDA where there is one and the graph is large."),
    ]
    backend: Annotated[
        Backend,
        Option(
            "Computing",
            "auto: the fastest that fits; numba: compiled loops on the CPU; triton: kernels on CUDA; reference: torch; "
            "sampled: draws ties and pairs, where memory or time allow nothing else.",
            default="auto",
        ),
    ]
    threads: Annotated[int | None, Option("Computing", "CPU threads; results do not depend on it.", least=1)]
    precision: Annotated[
        Precision | None,
        Option("Computing", "Of the pass over pairs. Default: float64 with numba, float32 with triton."),
    ]
    time_limit: Annotated[
        float | None,
        Option("Training", "Seconds: fit the training into this and stop after it.", metavar="SECONDS"),
    ]


class Options(Compared, total=False):
    """The options of a training that were given, or all of them after `complete`."""

    p: Annotated[int | None, Option("Geometry", "Space dimensions of Q^(p,q); with `q`.", least=0)]
    q: Annotated[int | None, Option("Geometry", "Time dimensions of Q^(p,q) less one; with `p`.", least=0)]
    dim: Annotated[
        int | None,
        Option(
            "Geometry",
            "Dimension: the signature is chosen for the graph, as by select, within the time of two trainings. With "
            "`flat`, the dimension of flat space.",
            least=1,
        ),
    ]
    flat: Annotated[
        bool, Option("Geometry", "Euclidean space; δ and the measures take the squared distance.", default=False)
    ]
    signature: Annotated[
        Signature | None, Option("Geometry", "p and q in one, such as 3,1; or flat. Default: 3,3.", metavar="P,Q")
    ]
    product: Annotated[
        str | Any | None,
        Option(
            "Geometry",
            "Geometries side by side, such as 3,1+2,0+flat2 (2,0@-4 for β = -4). Slower: at most 10,000 nodes.",
            metavar="PARTS",
        ),
    ]
    seeds: Annotated[
        int,
        Option(
            "Training",
            "Train this many seeds, from `seed` on, and keep the one of the lowest loss; ranks then have intervals.",
            default=1,
            least=1,
            metavar="N",
        ),
    ]
    preset: Annotated[
        Preset | None,
        Option("Training", "The recipe of the authors' scripts, or that of the paper's text (docs/reproducing.md)."),
    ]
    optimizer: Annotated[
        Optimizer | None,
        Option(
            "Training",
            "Along -χ (descent, the default), through φ (Section 4.1), along -Df, which need not converge, or along "
            "∓Df, whichever descends.",
        ),
    ]
    iterations: Annotated[
        int | None,
        Option(
            "Training",
            "The most iterations. Default: 1,600 to 4,000, growing with the mean degree; 10,000 with a preset.",
            least=1,
        ),
    ]
    temperature: Annotated[
        Ends | None, Option("Training", "τ, or its first and last value. Default: set by the method.", metavar="TAU")
    ]
    dissimilarity: Annotated[
        Dissimilarity | None,
        Option(
            "Training",
            "What is trained. Default: smoothed D_γ; geodesic is D_γ (in flat space the squared distance), cone-rule "
            "the scripts' form of it, extrinsic Eq. 4, distance that of flat space, H^p or S^q.",
        ),
    ]
    epsilon: Annotated[
        Ends | None, Option("Training", "Smoothing of the light cone, or its first and last value.", metavar="EPS")
    ]
    step: Annotated[float | None, Option("Training", "Step size. Default: set by the method.")]
    max_step: Annotated[
        Ends | None, Option("Training", "The longest move of a point, or the first and the last.", metavar="LENGTH")
    ]
    stop: Annotated[
        Stop | None,
        Option(
            "Training",
            "converged (default): once the loss no longer falls; iterations (default of the presets): after all of "
            "them; ordered: also once every tie is shorter than every pair without one.",
        ),
    ]
    scope: Annotated[
        Scope | None,
        Option(
            "Training",
            "Compare a tie with all weaker pairs of the graph (Eq. 17), or with those of its two ends. Default: set by "
            "the method.",
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
        return tuple(word for part in self.members if get_origin(part) is Literal for word in get_args(part))

    @property
    def members(self) -> tuple[Any, ...]:
        """The alternatives of its type."""
        return _members(self.type)

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of a call that takes it by its name."""
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=self.option.default, annotation=self.type
        )


def _members(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a type: those of a union, or itself."""
    if get_origin(kind) is Literal or not get_args(kind) or get_origin(kind) is tuple:
        return (kind,)
    return tuple(member for part in get_args(kind) for member in _members(part))


_HINTS = get_type_hints(Options, include_extras=True)
OPTIONS = {name: Declared(name, *get_args(hint)) for name, hint in _HINTS.items()}


def complete(given: Mapping[str, Any]) -> Options:
    """All options, with the default where one was not given; ``TypeError`` for a name that is no option."""
    if unknown := sorted(set(given) - set(OPTIONS)):
        raise TypeError(f"there is no option {unknown[0]!r}; the options are {', '.join(OPTIONS)}")
    defaults = {name: declared.option.default for name, declared in OPTIONS.items()}
    return cast("Options", defaults | dict(given))


def takes_options(call: Callable[P, R]) -> Callable[P, R]:
    """Put the options into the signature and the docstring of a call that takes them as ``**options``."""
    own = [each for each in inspect.signature(call).parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = [declared.parameter for name, declared in OPTIONS.items() if name not in {each.name for each in own}]
    call.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    if call.__doc__:
        call.__doc__ = described(call.__doc__)
    return call


def described(docstring: str) -> str:
    r"""A docstring with the options in place of the lines that refer to them, in the style of numpy.

    >>> "    p : int, optional\n        Space dimensions of Q^(p,q); with ``q``.\n" in described(_REFERENCE)
    True
    """
    lines = []
    for declared in OPTIONS.values():
        lines.append(f"    {declared.name} : {_in_words(declared)}")
        lines += textwrap.wrap(
            re.sub("`(.*?)`", r"``\1``", declared.option.help), 112, initial_indent=" " * 8, subsequent_indent=" " * 8
        )
    return docstring.replace(_REFERENCE, "\n".join([*lines, ""]))


def _in_words(declared: Declared) -> str:
    names = [repr(word) for word in declared.choices] or [
        "(float, float)" if get_origin(part) is tuple and float in get_args(part)
        else "(int, int)" if get_origin(part) is tuple
        else "Product" if part is Any
        else part.__name__
        for part in declared.members
        if part not in (object, type(None))
    ]  # fmt: skip
    default = declared.option.default
    return " or ".join(names) + (", optional" if default is None else f", default {default!r}")
