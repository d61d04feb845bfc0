"""Plans from keywords, as ``embed`` takes them."""

from ultrahyperbolic.training import plan
from ultrahyperbolic.training.where import geometry_of


def configure(
    graph, *, p=None, q=None, dim=None, flat=False, beta=None, seed=0, preset=None, goal="balanced", **overrides
):
    where = geometry_of(p, q, dim, flat=flat, beta=beta)
    return plan.configure(plan.Plan(where, plan.Overrides(**overrides), seed, preset, goal=goal), graph)
