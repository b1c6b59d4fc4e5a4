"""Detection, the dual subproblem LP, and rows, each against something independent."""

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from oracles import all_cuts, instance, random_graph
from scipy.optimize import linprog
from scipy.sparse.csgraph import dijkstra

from bdcc_jax import Graph, Options
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.engine import make_engine
from bdcc_jax.separation.paper.ball import VIOLATION
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder
from bdcc_jax.separation.paper.magnanti_wong import MagnantiWong
from bdcc_jax.separation.paper.paths import (
    Flow,
    aggregated_row,
    cycle_rows,
    decompose,
    shortest_cycles,
)
from bdcc_jax.separation.paper.reference import ReferenceSolver

CPU = jax.devices("cpu")[0]


def balls_at(graph, cover, x, ball_size=None):
    """The balls of the violated roots, by root."""
    found = DijkstraFinder(graph, cover, ball_size).find(x, Clock(None))
    return {int(ball.nodes[0]): ball for ball in found}


def random_x(rng, graph):
    """Something like a solution of the master: many zeros and ones, some fractions."""
    x = np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 4)
    return np.where(rng.random(graph.m) < 0.5, np.round(x), x)


def violated_roots(graph, cover, x):
    """By SciPy's Dijkstra on E+."""
    u, v = graph.edges[graph.positive].T
    # SciPy reads a stored zero as an edge of length zero, as it should.
    lengths = sp.csr_array((x[graph.positive], (u, v)), shape=(graph.n, graph.n))
    distance = dijkstra(lengths, directed=False, indices=cover.roots)
    root = np.repeat(np.arange(len(cover)), np.diff(cover.starts))
    violated = distance[root, cover.far_ends] < x[cover.edges] - VIOLATION
    return sorted(set(cover.roots[root[violated]])), cover.edges[violated]


@pytest.mark.parametrize("ball_size", [2, 10, None])
@pytest.mark.parametrize("seed", range(5))
def test_detection_agrees_with_scipy(seed, ball_size):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 60, 0.08)
    cover = vertex_cover(graph, "greedy")
    x = random_x(rng, graph)
    balls = balls_at(graph, cover, x, ball_size)
    roots, edges = violated_roots(graph, cover, x)
    assert sorted(balls) == roots
    assert sorted(e for ball in balls.values() for e in ball.target_edges) == sorted(edges)
    for ball in balls.values():
        ends = np.sort(np.column_stack([ball.nodes[ball.tail], ball.nodes[ball.head]]))
        assert (graph.edges[ball.edges] == ends).all()
        assert graph.positive[ball.edges].all()


@pytest.mark.parametrize("name", ["bsds300test-rf255ucm/42049", "signed-network/congress"])
def test_detection_agrees_with_scipy_on_real_instances(name):
    graph = instance(name)
    cover = vertex_cover(graph, "greedy")
    rng = np.random.default_rng(0)
    for x in (graph.negative.astype(float), random_x(rng, graph)):
        assert list(balls_at(graph, cover, x, 64)) == violated_roots(graph, cover, x)[0]


def paper_lp(graph, cover, s, x):
    """Eq. (BendersSub) on the whole graph, written down from the paper: maximum and solution."""
    root = cover.roots[s]
    share = slice(cover.starts[s], cover.starts[s + 1])
    positive = np.flatnonzero(graph.positive)
    at_root = (graph.edges[positive] == root).any(axis=1)
    inner, spokes = positive[~at_root], positive[at_root]
    k, p, q = len(inner), len(spokes), share.stop - share.start
    conservation = np.zeros((graph.n, 2 * k + p + q))
    for c, (i, j) in enumerate(graph.edges[inner]):
        conservation[i, c] += 1  # lambda^-: out of i, into j
        conservation[j, c] -= 1
        conservation[i, k + c] -= 1  # lambda^+
        conservation[j, k + c] += 1
    for c, ends in enumerate(graph.edges[spokes]):
        conservation[ends[ends != root][0], 2 * k + c] += 1  # psi^+
    for c, v in enumerate(cover.far_ends[share]):
        conservation[v, 2 * k + p + c] -= 1  # psi^-
    conservation = np.delete(conservation, root, axis=0)
    together = np.hstack([np.eye(k), np.eye(k), np.zeros((k, p + q))])
    gain = np.concatenate([-x[inner], -x[inner], -x[spokes], x[cover.edges[share]]])
    result = linprog(
        -gain,
        A_ub=np.vstack([-conservation, together]),
        b_ub=np.concatenate([np.zeros(graph.n - 1), graph.weights[inner]]),
        bounds=[(0, None)] * (2 * k)
        + [(0, w) for w in graph.weights[spokes]]
        + [(0, -w) for w in graph.weights[cover.edges[share]]],
    )
    assert result.success
    return -result.fun


def activity(graph, ball, paths, x, unit):
    """The objective of the subproblem that the paths attain."""
    lengths = [x[ball.edges[p]].sum() for p in np.split(paths.edges, paths.starts[1:-1])]
    return float(paths.amount @ (x[ball.target_edges[paths.target]] - lengths)) * unit


@pytest.mark.parametrize("seed", range(6))
def test_the_subproblem_is_the_papers(seed):
    """The flow on the ball attains the optimum of the paper's LP on the whole graph."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 14, 0.5)
    cover = vertex_cover(graph, "exact")
    x = random_x(rng, graph)
    balls, solver = balls_at(graph, cover, x), ReferenceSolver(graph)
    for s, root in enumerate(cover.roots):
        ball = balls.get(root)
        optimum = paper_lp(graph, cover, s, x)
        if ball is None:
            assert optimum == pytest.approx(0, abs=1e-5)
            continue
        flow = solver.solve_base(ball, x, Clock(None))
        scale = max(np.abs(flow.edges).max(), flow.targets.max())
        unit = np.abs(graph.weights[ball.target_edges]).max() * scale
        attained = activity(graph, ball, decompose(ball, flow), x, unit)
        assert attained == pytest.approx(optimum, rel=1e-4)
        for tau in (0.01, 0.5, 0.99):
            variant = MagnantiWong(tau, "random", np.random.default_rng(seed))
            solver.solve_base(ball, x, Clock(None))
            other = solver.solve_magnanti_wong(ball, x, variant, Clock(None))
            penalty = MagnantiWong(tau, "random", np.random.default_rng(seed)).penalty(graph, ball)
            assert np.linalg.norm(penalty) == pytest.approx(1)
            scale = max(np.abs(other.edges).max(), other.targets.max())
            unit = np.abs(graph.weights[ball.target_edges]).max() * scale
            reached = activity(graph, ball, decompose(ball, other), x, unit)
            assert reached >= tau * optimum * (1 - 1e-4)
            cost = penalty @ np.concatenate([np.abs(other.edges), other.targets])
            base = penalty @ np.concatenate([np.abs(flow.edges), flow.targets])
            assert cost <= base + 1e-9


def test_magnanti_wong_objectives():
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0])
    (ball,) = balls_at(graph, vertex_cover(graph, "greedy"), np.array([0, 1.0, 0])).values()
    variant = MagnantiWong(0.5, "inverse_weight", np.random.default_rng(0))
    penalty = variant.penalty(graph, ball)
    weights = np.abs(graph.weights[np.concatenate([ball.edges, ball.target_edges])])
    assert penalty == pytest.approx(1 / (1e-4 + weights))


GARBAGE = {
    "random": lambda rng, k: rng.normal(size=k),
    "huge and tiny": lambda rng, k: rng.normal(size=k) * 10.0 ** rng.integers(-300, 300, k),
    "float32": lambda rng, k: rng.normal(size=k).astype(np.float32).astype(float),
    "not numbers": lambda rng, k: rng.choice([np.nan, np.inf, -np.inf, 1.0, -2.0], k),
    "nothing": lambda rng, k: np.zeros(k),
    "integers": lambda rng, k: rng.integers(-3, 4, k).astype(float),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_rows_are_valid_whatever_the_flow(kind):
    """Garbage in: every row out still holds for all partitions, exactly."""
    rng = np.random.default_rng(7)
    checked = 0
    for n in (4, 6, 8):
        for _ in range(8):
            graph = random_graph(rng, n, 0.8)
            cover = vertex_cover(graph, "greedy")
            x = random_x(rng, graph)
            cuts = all_cuts(graph)
            for ball in balls_at(graph, cover, x).values():
                edges, targets = len(ball.edges), len(ball.targets)
                flow = Flow(GARBAGE[kind](rng, edges), GARBAGE[kind](rng, targets))
                paths = decompose(ball, flow)
                for rows in (
                    aggregated_row(ball, paths),
                    cycle_rows(ball, paths, x),
                    shortest_cycles(ball),
                ):
                    dense = np.zeros((len(rows), graph.m))
                    dense[rows.row_of_entry(), rows.indices] = rows.values
                    assert np.isfinite(dense).all()
                    assert (dense @ cuts.T <= 0).all()
                    checked += len(rows)
                split = cycle_rows(ball, paths, x)
                assert (split.activity(x) > VIOLATION).all()
    assert checked > 100


def test_decomposition_recovers_the_paths():
    """Two paths of 2 and 1 units from node 3 to the root, a circulation, and a dead end."""
    #   0 - 1 - 3,  0 - 2 - 3,  circulation 1 -> 4 -> 5 -> 1,  dead end 3 - 6
    pairs = [(0, 1), (1, 3), (0, 2), (2, 3), (1, 4), (4, 5), (1, 5), (3, 6)]
    graph = Graph.from_edges(*np.array([*pairs, (0, 3)]).T, [1.0] * 8 + [-1.0])
    x = graph.negative.astype(float)
    (ball,) = balls_at(graph, vertex_cover(graph, "greedy"), x).values()
    root = ball.nodes[0]
    target = 3 - root  # greedy takes node 0 or 3, the two ends of the negative edge
    sent = {(3, 1): 2.0, (1, 0): 2.0, (3, 2): 1.0, (2, 0): 1.0}
    if root == 3:
        sent = {(b, a): amount for (a, b), amount in sent.items()}
    sent |= {(1, 4): 5.0, (4, 5): 5.0, (5, 1): 5.0, (3, 6): 0.5}
    flow = np.zeros(len(ball.edges))
    for i, (a, b) in enumerate(zip(ball.nodes[ball.tail], ball.nodes[ball.head], strict=True)):
        flow[i] = sent.get((a, b), 0.0) - sent.get((b, a), 0.0)
    paths = decompose(ball, Flow(flow, np.array([3.5])))
    assert ball.nodes[ball.targets].tolist() == [target]
    # The half unit that ends at node 6 goes along the shortest path instead.
    assert sorted(np.round(paths.amount * 5, 4)) == [0.5, 1.0, 2.0]
    assert np.diff(paths.starts).tolist() == [2, 2, 2]
    row = aggregated_row(ball, paths)
    assert (row.values == np.round(row.values)).all()
    assert row.values.max() == 64 + 32 + 16


@pytest.mark.parametrize("options", [Options(), Options.paper()], ids=["default", "paper"])
def test_rows_whenever_a_root_is_violated(options):
    rng = np.random.default_rng(11)
    graph = random_graph(rng, 30, 0.3)
    cover = vertex_cover(graph, "greedy")
    engine = make_engine(graph, cover, options, 0, CPU)
    x = graph.negative.astype(float)
    separation = engine.separate(x, Clock(None))
    assert separation.violated_roots == len(violated_roots(graph, cover, x)[0])
    assert len(separation.rows) >= separation.violated_roots
    assert (separation.rows.activity(x) > VIOLATION).all()
    nothing = engine.separate(np.zeros(graph.m), Clock(None))
    assert (nothing.violated_roots, len(nothing.rows)) == (0, 0)


def test_a_flow_of_zeros_falls_back_on_the_shortest_cycles(monkeypatch):
    """As the solvers return where they fail."""
    monkeypatch.setattr(ReferenceSolver, "_run", lambda self, m: Flow(np.zeros(m), np.zeros(1)))
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0])
    cover = vertex_cover(graph, "greedy")
    engine = make_engine(graph, cover, Options(), 0, CPU)
    rows = engine.separate(graph.negative.astype(float), Clock(None)).rows
    assert len(rows) == 1
    assert sorted(rows.values) == [-1, -1, 1]
