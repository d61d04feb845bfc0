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


def reservations(measures: Mapping[str, float]) -> list[str]:
    """Sentences on what the points do not show, though a reader would expect it; none where all is well."""
    found = []
    rho, order = measures.get("spearman_all"), measures.get("tie_order")
    if rho is not None and rho < HIERARCHY_FROM:
        found.append(
            f"this graph shows no such hierarchy in this geometry: rank hardly agrees with strength (ρ = {rho:.2f})"
        )
    if order is not None and order < TIE_ORDER_FROM:
        found.append(
            f"of two ties, the stronger is hardly nearer than chance in this geometry ({order:.0%}; chance is 50%)"
        )
    return found
