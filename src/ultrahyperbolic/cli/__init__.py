"""The command ``ultrahyperbolic``: what it can do, each in a module of its own."""

from .answers import EVALUATE_EXAMPLES, NEIGHBORS_EXAMPLES, RANK_EXAMPLES, evaluate, neighbors, rank
from .app import app, main
from .embed import EXAMPLES as EMBED_EXAMPLES
from .embed import embed
from .export import EXAMPLES as EXPORT_EXAMPLES
from .export import export
from .known import EXAMPLES as DATASETS_EXAMPLES
from .known import datasets
from .reproduce import EXAMPLES as REPRODUCE_EXAMPLES
from .reproduce import reproduce

__all__ = ["app", "main"]

# In the order in which people meet them.
app.command(epilog=EMBED_EXAMPLES)(embed)
app.command(epilog=RANK_EXAMPLES)(rank)
app.command(epilog=NEIGHBORS_EXAMPLES)(neighbors)
app.command(epilog=EVALUATE_EXAMPLES)(evaluate)
app.command(epilog=EXPORT_EXAMPLES)(export)
app.command(epilog=DATASETS_EXAMPLES)(datasets)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
