import numpy as np
import pytest
from oracles import partitions, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.primal.rounding import METHODS, _RootCuts, threshold


def test_threshold_cuts_above_one_half_and_closes():
    graph = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [1.0, 1.0, -1.0, 1.0])
    # edge order: (0,1), (0,2), (1,2), (2,3); (0,2) is cut by x but joined by the path 0-1-2
    assert threshold(graph, np.array([0.5, 1.0, 0.4, 0.6])).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_a_clustering_is_returned_unchanged_in_value(name, seed):
    """Appendix C: at an integral, feasible x the result costs what x costs, or less."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.7)
    cover = vertex_cover(graph, "exact")
    for labels in partitions(8)[rng.choice(len(partitions(8)), 15)]:
        x = graph.cut(labels).astype(float)
        rounded = METHODS[name](graph, x, cover, Clock(None))
        # Components that no negative edge of E asks to separate may be joined: never worse.
        assert graph.objective(rounded) <= graph.objective(labels) + 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_minimum_cut_is_minimum(seed):
    """Against all ways to choose the root's side."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.6)
    cover = vertex_cover(graph, "greedy")
    kappa = graph.weights * rng.random(graph.m)
    cuts = _RootCuts(graph, cover)
    sides = (np.arange(2**8)[:, None] >> np.arange(8)) & 1 == 1
    for s, root in enumerate(cover.roots):
        own = cover.edges[cover.starts[s] : cover.starts[s + 1]]

        def cost(cut, own=own):
            return kappa[graph.positive & cut].sum() - kappa[own][~cut[own]].sum()

        best = min(
            cost(side[graph.edges[:, 0]] != side[graph.edges[:, 1]])
            for side in sides[sides[:, root]]
        )
        assert cost(cuts.minimum_cut(s, kappa)) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_scale_does_not_matter(factor):
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 30, 0.3)
    scaled = Graph(graph.n, graph.edges, graph.weights * factor)
    x = rng.random(graph.m)
    cover = vertex_cover(graph, "greedy")
    for method in METHODS.values():
        expected = method(graph, x, cover, Clock(None)).tolist()
        assert method(scaled, x, cover, Clock(None)).tolist() == expected


@pytest.mark.parametrize("name", METHODS)
def test_the_deadline_is_honoured(name):
    graph = random_graph(np.random.default_rng(2), 30, 0.3)
    with pytest.raises(TimeLimitReached):
        METHODS[name](graph, np.zeros(graph.m), vertex_cover(graph, "greedy"), Clock(0.0))
