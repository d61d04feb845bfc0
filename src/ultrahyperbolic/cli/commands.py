"""The commands, in the order in which people meet them."""

from .application import app, run
from .cluster import EXAMPLES as CLUSTER_EXAMPLES
from .cluster import cluster
from .datasets import EXAMPLES as DATASETS_EXAMPLES
from .datasets import datasets
from .embed import EXAMPLES as EMBED_EXAMPLES
from .embed import embed
from .export import EXAMPLES as EXPORT_EXAMPLES
from .export import export
from .place import EXAMPLES as PLACE_EXAMPLES
from .place import place
from .prepare import EXAMPLES as PREPARE_EXAMPLES
from .prepare import prepare
from .queries import EVALUATE_EXAMPLES, NEIGHBORS_EXAMPLES, RANK_EXAMPLES, evaluate, neighbors, rank
from .report import EXAMPLES as REPORT_EXAMPLES
from .report import report
from .reproduce import EXAMPLES as REPRODUCE_EXAMPLES
from .reproduce import reproduce
from .select import EXAMPLES as SELECT_EXAMPLES
from .select import select
from .suggest import EXAMPLES as SUGGEST_EXAMPLES
from .suggest import suggest

__all__ = ["app", "run"]

app.command(epilog=EMBED_EXAMPLES)(embed)
app.command(epilog=SELECT_EXAMPLES)(select)
app.command(epilog=RANK_EXAMPLES)(rank)
app.command(epilog=NEIGHBORS_EXAMPLES)(neighbors)
app.command(epilog=SUGGEST_EXAMPLES)(suggest)
app.command(epilog=CLUSTER_EXAMPLES)(cluster)
app.command(epilog=PLACE_EXAMPLES)(place)
app.command(epilog=EVALUATE_EXAMPLES)(evaluate)
app.command(epilog=PREPARE_EXAMPLES)(prepare)
app.command(epilog=REPORT_EXAMPLES)(report)
app.command(epilog=EXPORT_EXAMPLES)(export)
app.command(epilog=DATASETS_EXAMPLES)(datasets)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
