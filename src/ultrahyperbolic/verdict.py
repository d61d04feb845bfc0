"""What the measures let one say, and what they do not: the words for people follow these rules."""

from collections.abc import Mapping

# Chance has 0.5.
TIE_ORDER_FROM = 0.6
# Below this, fewer than half of what stands near a node are its neighbours.
NEIGHBOURS_FROM = 0.5
# Chance has 0.5.
VIOLATED_UP_TO = 0.25

# Chance has 0.5.
HIDDEN_TIES_FROM = 0.6
# The share of the ties that is hidden.
HIDDEN = 0.1
# Of one hidden tie, comparisons would say little.
FEWEST_HIDDEN = 2

RANKED = {
    "centrality": "the most central nodes",
    "delta": "the nodes of smallest delta",
    "height": "the highest nodes, from which ties point down",
}
"""Whom a ranking lists first."""
MEANINGS = {
    "map": "mean average precision of the neighbours",
    "recall_at_1": "the nearest node is a neighbour",
    "violated_orders": "a tie is longer than a non-tie",
    "tie_order": "of two ties, the stronger is shorter",
    "delta_centrality": "agreement of delta and centrality (ρ)",
    "spearman_all": "agreement of delta and strength (ρ)",
    "mean_rank": "mean rank of a neighbour",
    "strongest_tie": "the nearest node is a strongest tie",
    "violated_orders_all": "a stronger pair is longer than a weaker one",
    "precision_at_5": "neighbours among the five nearest nodes",
    "spearman_top5": "ρ of the five strongest nodes",
    "spearman_top10": "ρ of the ten strongest nodes",
    "map_out": "mean average precision of where ties lead",
    "map_in": "the same of where they come from",
    "average_precision": "average precision of ties among ordered pairs",
    "direction": "a tie has the right direction",
    "weight_down": "weight of the ties that lead down",
    "circulation": "weight that goes round in cycles",
    "incoherence": "how far ties are from leading one level down",
    "measured_nodes": "number of nodes that were drawn for this",
}
"""What a measure is, in a few words: a share or a chance unless it says otherwise."""


def no_tie_order(measures: Mapping[str, float]) -> str | None:
    """The sentence for points that hardly tell strong ties from weak ones; None where they do, or
    nobody knows.
    """
    rate = measures.get("tie_order")
    if rate is None or rate >= TIE_ORDER_FROM:
        return None
    return (
        f"of two ties, the stronger is shorter in only {100 * rate:.0f} % of comparisons "
        "(chance: 50 %)"
    )


def poor_fit(measures: Mapping[str, float], *, unfinished: bool = False) -> str | None:
    """The sentence for points that do not show which nodes are tied; None where they do, or nobody
    knows. After an unfinished training, nobody knows what another geometry would do.
    """
    precision, violated = measures.get("map"), measures.get("violated_orders")
    if precision is not None and precision < NEIGHBOURS_FROM:
        why = f"near nodes are often not neighbours (mAP {precision:.3f}; 1 is perfect)"
    elif violated is not None and violated > VIOLATED_UP_TO:
        why = f"in {100 * violated:.1f} % of comparisons an untied pair lies closer than a tied one"
    else:
        return None
    advice = "More dimensions or another geometry may help"
    return f"the fit is poor: {why}. {'The training is unfinished' if unfinished else advice}"


def can_hide(ties: int) -> bool:
    """Whether a tenth of so many ties is enough to test a training on."""
    return round(HIDDEN * ties) >= FEWEST_HIDDEN


def of_hidden_ties(held_out: Mapping[str, float], ties: int, folder: str = "FOLDER") -> str:
    """The sentence on ties that the training has not seen, which no measure of the fit counts."""
    auc = held_out.get("auc")
    if auc is None:
        said = "this is the fit to the given ties, no prediction"
        test = f"; to test it on hidden ties: ultrahyperbolic evaluate {folder} --held-out"
        return said + test * can_hide(ties)
    return (
        "this is the fit to the given ties; a hidden tie is shorter than a non-tie in "
        f"{100 * auc:.0f} % of comparisons (chance: 50 %)"
        + ", hardly more than by chance"
        * (auc < HIDDEN_TIES_FROM)
    )


def reservations(measures: Mapping[str, float], *, unfinished: bool = False) -> list[str]:
    """Sentences on what the points do not show, though a reader would expect it; none where all is
    well.
    """
    found = (poor_fit(measures, unfinished=unfinished), no_tie_order(measures))
    return [words for words in found if words is not None]
