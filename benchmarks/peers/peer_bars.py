"""What the comparison must show, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from board_figures import Figures, Value
from peer_tables import TITLES, value
from runs import DEPTHS, GRAPHS, PEERS

NEAR = 0.005
FIRST_OF = 10
TIMES_WEMBED = 4.0
SHARE_OF_GENSIM = 0.1


class Bars:
    """Counts what is held, and prints each."""

    def __init__(self, figures: Mapping[str, Value]) -> None:
        self.figures = figures
        self.found: Figures = {}
        self.failed = 0

    def value(self, name: str, graph: str, measure: str) -> float:
        """A mean over seeds; NaN where there is none."""
        return value(self.figures, name, graph, measure)

    def say(self, key: str, held: bool | None, text: str) -> None:
        """``held`` is None where figures are missing, which does not count as held."""
        self.failed += held is not True
        self.found[f"bars.{key}"] = held
        print(f"{'not measured' if held is None else 'held' if held else 'NOT HELD'}: {text}")

    def best(self, graph: str, measure: str) -> tuple[str, float]:
        """The first of the peers, and its figure; NaN where none has one."""
        known = {name: self.value(name, graph, measure) for name in PEERS}
        known = {name: each for name, each in known.items() if not math.isnan(each)}
        return max(known.items(), key=lambda item: item[1]) if known else ("none", math.nan)

    def against(self, ours: str, graphs: Iterable[str], measure: str, near: float) -> list[str]:
        """The graphs on which we are first, or within ``near`` of the first; each is printed."""
        held = []
        for graph in graphs:
            mine, (name, theirs) = self.value(ours, graph, measure), self.best(graph, measure)
            if math.isnan(mine):
                continue
            first = math.isnan(theirs) or mine >= theirs - near
            held += [graph] * first
            print(
                f"  {graph}: {mine:.3f}, the first peer {TITLES.get(name, name)} {theirs:.3f}{'' if first else '  <'}"
            )
        return held


def bars(figures: Mapping[str, Value]) -> Figures:
    """Print each with its figures; ``bars.failed`` counts those not held."""
    b = Bars(figures)
    print(f"mAP of goal neighbours, first or within {NEAR}:")
    measured = [g for g in GRAPHS if not math.isnan(b.value("neighbours", g, "map"))]
    held = b.against("neighbours", measured, "map", NEAR)
    b.found["bars.map_first"] = len(held)
    whole = len(measured) == len(GRAPHS)
    b.say("map", len(held) >= FIRST_OF if whole else None, f"{len(held)} of {len(measured)}, {FIRST_OF} of 12 asked")
    for measure, words, graphs in (("tie_order", "tie order", GRAPHS), ("depth", "depth agreement", DEPTHS)):
        print(f"{words} of goal balanced, first:")
        defined = [g for g in graphs if not math.isnan(b.value("balanced", g, measure))]
        first = b.against("balanced", defined, measure, 0.0)
        b.say(measure, len(first) == len(defined) if defined else None, f"{words}: {len(first)} of {len(defined)}")
    for graph in ("netscience", "nips"):
        mine, theirs = b.value("q22_neighbours", graph, "cpu"), b.value("wembed", graph, "cpu")
        ratio = mine / theirs
        b.found[f"bars.cpu_{graph}_ratio"] = ratio
        b.say(
            f"cpu_{graph}", None if math.isnan(ratio) else ratio <= TIMES_WEMBED,
            f"CPU time on {graph}: {mine:.1f} s, {ratio:.2f} times WEmbed's {theirs:.1f} s, {TIMES_WEMBED:g} allowed",
        )  # fmt: skip
    gensim = b.value("gensim", "nips", "cpu")
    share, chosen = (b.value(name, "nips", "cpu") / gensim for name in ("q22", "balanced"))
    b.found["bars.gensim_cpu_with_choice"] = chosen
    b.say(
        "gensim_cpu", None if math.isnan(share) else share < SHARE_OF_GENSIM,
        f"{share:.3f} of gensim's CPU time on nips, less than {SHARE_OF_GENSIM} asked; {chosen:.3f} with a choice",
    )  # fmt: skip
    for measure, sign in (("recall_at_1", 1.0), ("violated_orders", -1.0), ("spearman_all", 1.0)):
        mine, theirs = (b.value(name, "nips", measure) for name in ("q22", "gensim"))
        ahead = sign * (mine - theirs)
        b.say(
            f"gensim_{measure}", None if math.isnan(ahead) else ahead > 0.0,
            f"{measure} on nips: {mine:.4g}, gensim {theirs:.4g}",
        )  # fmt: skip
    b.found["bars.failed"] = b.failed
    return b.found
