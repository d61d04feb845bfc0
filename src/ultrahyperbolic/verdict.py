"""What the measures let one say, and what they do not: the words for people follow these rules."""

from __future__ import annotations

from collections.abc import Mapping

# Below this ρ, strength explains less than a tenth of the order of the ranks.
HIERARCHY_FROM = 0.3
# Chance has 0.5.
TIE_ORDER_FROM = 0.6


def shows_hierarchy(measures: Mapping[str, float]) -> bool:
    """Whether ρ with strength says that the order of δ is a hierarchy of this graph; not where there is no ρ.

    >>> shows_hierarchy({"spearman_all": 0.7}), shows_hierarchy({"spearman_all": 0.1}), shows_hierarchy({})
    (True, False, False)
    """
    return measures.get("spearman_all", -1.0) >= HIERARCHY_FROM


def no_hierarchy(measures: Mapping[str, float]) -> str | None:
    """The sentence for a graph whose ranks do not follow strength; None where they do, or nobody knows."""
    rho = measures.get("spearman_all")
    if rho is None or rho >= HIERARCHY_FROM:
        return None
    return f"this graph shows no clear hierarchy in this geometry: rank hardly agrees with strength (ρ = {rho:.2f})"


def no_tie_order(measures: Mapping[str, float]) -> str | None:
    """The sentence for points that hardly tell strong ties from weak ones; None where they do, or nobody knows."""
    order = measures.get("tie_order")
    if order is None or order >= TIE_ORDER_FROM:
        return None
    return (
        f"of two ties, the stronger is hardly nearer than chance in this geometry ({100 * order:.0f} %; chance: 50 %)"
    )


def reservations(measures: Mapping[str, float]) -> list[str]:
    """Sentences on what the points do not show, though a reader would expect it; none where all is well."""
    return [words for words in (no_hierarchy(measures), no_tie_order(measures)) if words is not None]
