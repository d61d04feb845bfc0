"""The commands, in the order in which people meet them."""

import inspect

from .application import PlainHelp, app, run
from .cluster import cluster
from .datasets import datasets
from .embed import embed
from .export import export
from .place import place
from .plot import plot
from .prepare import prepare
from .queries import evaluate, neighbors, rank
from .report import report
from .reproduce import reproduce
from .select import select
from .suggest import suggest

__all__ = ["app", "run"]

for command in (
    embed, select, rank, neighbors, suggest, cluster, place, evaluate, prepare, report, plot, export, datasets,
    reproduce,
):  # fmt: skip
    text, heading, examples = (inspect.getdoc(command) or "").partition("Examples:")
    app.command(cls=PlainHelp, help=text.rstrip(), epilog=f"\b\n{heading}{examples}")(command)
