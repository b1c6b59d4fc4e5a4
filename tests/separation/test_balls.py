"""Balls around violated roots: what is in them."""

import numpy as np
from device_rounds import batch_of, edges_of
from families import planar

from bdcc_jax import Graph, Options, solve
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device.balls import NODES


def test_balls_hold_shortest_paths_and_every_edge_between_their_nodes():
    rng = np.random.default_rng(1)
    graph = planar(rng, 20, 20)
    x = graph.negative.astype(float)
    balls, problems = batch_of(graph, x)
    assert (balls.nodes >= 0).sum(1).max() == NODES
    positive = {tuple(e) for e in np.sort(graph.edges[graph.positive], axis=1).tolist()}
    for lane in range(len(balls)):
        nodes = balls.nodes[lane][balls.nodes[lane] >= 0]
        assert len(set(nodes.tolist())) == len(nodes)
        inside = {(u, v) for u, v in positive if u in nodes and v in nodes}
        ends = [tuple(sorted((nodes[u], nodes[v]))) for u, v, *_ in edges_of(balls, problems, lane)]
        assert len(ends) == len(inside)
        assert set(ends) == inside
        for t in np.flatnonzero(balls.target[lane] >= 0):
            edge = graph.edges[balls.target[lane, t]].tolist()
            assert sorted(edge) == sorted((int(nodes[0]), int(nodes[t])))


def test_smaller_balls_hold_the_paths_to_their_targets_at_least():
    graph = planar(np.random.default_rng(1), 20, 20)
    x = graph.negative.astype(float)
    balls, _ = batch_of(graph, x, Options.paper(engine="pdlp", ball_size=8))
    sizes, targets = (balls.nodes >= 0).sum(1), (balls.target >= 0).sum(1)
    assert np.median(sizes) == 8
    assert (targets > 0).all()
    assert solve(graph, options=Options(engine="pdlp", ball_size=8)).status == "optimal"


def test_what_does_not_fit_comes_later():
    """A star of long arms: three of them fill a ball, and one is longer than that."""
    arms, length, longest = 12, 20, 80
    u, v, w, first = [], [], [], 1
    for arm in range(arms + 1):
        nodes = [0, *range(first, first + (length if arm < arms else longest))]
        first += len(nodes) - 1
        u, v = [*u, *nodes[:-1], 0], [*v, *nodes[1:], nodes[-1]]
        w = [*w, *[1.0] * (len(nodes) - 1), -1.0]
    graph = Graph.from_edges(u, v, w)
    balls, _ = batch_of(graph, graph.negative.astype(float))
    assert vertex_cover(graph, "greedy").roots.tolist() == [0]
    assert (balls.target >= 0).sum(1).tolist() == [3]
    options = Options.paper(engine="pdlp", presolve=False, heuristics=False)
    assert solve(graph, options=options).objective == -0.0
