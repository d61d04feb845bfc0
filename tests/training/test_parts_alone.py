"""Trainings on parts of the pairs."""

import networkx as nx

import ultrahyperbolic as uh
from ultrahyperbolic.training.plan import Plan, configure


def test_of_parts_alone_the_last_points_are_kept(monkeypatch):
    """Their losses do not compare: what seems worse than the start may be better."""
    for module in ("registry", "numba.engine"):
        monkeypatch.setattr(f"ultrahyperbolic.engines.{module}.EXACT_NODES", 100)
    monkeypatch.setattr("ultrahyperbolic.training.plan.others_met", lambda machine, n: 50)
    graph = uh.as_graph(nx.watts_strogatz_graph(300, 6, 0.2, seed=2))
    assert configure(Plan.of(p=2, q=2, backend="numba"), graph)[0].parts == 6
    result = uh.embed(
        graph, p=2, q=2, iterations=20, max_step=0.5, backend="numba", quiet=True
    ).record.result
    assert result.final_loss > result.start_loss, "far moves lead away from a good start"
    assert result.best_iteration == 19
