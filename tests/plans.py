"""Plans from keywords, as ``embed`` takes them."""

from ultrahyperbolic.training import plan


def configure(graph, **options):
    return plan.configure(plan.Plan.of(**options), graph)
