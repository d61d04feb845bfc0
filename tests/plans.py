"""Plans from keywords, as ``embed`` takes them."""

from ultrahyperbolic.training import plan


def configure(
    graph, *, p=None, q=None, dim=None, flat=False, beta=None, seed=0, preset=None, goal="balanced", **wishes
):
    where = plan.geometry_of(p, q, dim, flat=flat, beta=beta)
    return plan.configure(plan.Plan(where, plan.Wishes(**wishes), seed, preset, goal=goal), graph)
