"""What the measures let one say: the rules are in `ultrahyperbolic.verdict`, which needs no torch."""

from ..verdict import HIERARCHY_FROM, TIE_ORDER_FROM, no_hierarchy, no_tie_order, reservations, shows_hierarchy

__all__ = [
    "HIERARCHY_FROM",
    "TIE_ORDER_FROM",
    "no_hierarchy",
    "no_tie_order",
    "reservations",
    "shows_hierarchy",
]
