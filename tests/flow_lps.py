"""Small flow LPs of several kinds, and their optima by HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import Delaunay

from bdcc_jax.separation.device.flow_problems import FlowProblems
from bdcc_jax.separation.device.flows import Solution, expand
from bdcc_jax.separation.device.reduction import reduce_flows


def join(parts):
    """Ragged problems from a list of (nodes, tail, head, cost, capacity, reward, supply)."""
    columns = [np.concatenate([part[i] for part in parts]) for i in range(1, 7)]
    nodes = np.cumsum([0] + [part[0] for part in parts])
    edges = np.cumsum([0] + [len(part[1]) for part in parts])
    return FlowProblems(nodes, edges, *columns)


def random_problem(rng, nodes, tail, head, targets, free=0.5):
    edges = len(tail)
    cost = np.where(rng.random(edges) < free, 0.0, 0.3 * rng.random(edges))
    capacity = rng.lognormal(0.0, 1.0, edges)
    reward, supply = np.zeros(nodes), np.zeros(nodes)
    chosen = rng.choice(np.arange(1, nodes), min(targets, nodes - 1), replace=False)
    reward[chosen] = rng.uniform(0.3, 1.0, len(chosen))
    supply[chosen] = rng.lognormal(0.0, 1.0, len(chosen))
    return nodes, tail, head, cost, capacity, reward, supply


def planar(rng, nodes, targets=3):
    triangles = Delaunay(rng.random((nodes, 2))).simplices
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    tail, head = np.unique(np.sort(pairs, 1), axis=0).T
    return random_problem(rng, nodes, tail, head, targets)


def complete(rng, nodes, targets=6):
    return random_problem(rng, nodes, *np.triu_indices(nodes, 1), targets)


def star(rng, nodes, hub=1):
    """A hub that is not the root: its edges fill several rows."""
    others = np.setdiff1d(np.arange(nodes), [hub])
    return random_problem(rng, nodes, np.full(len(others), hub), others, 5)


def path(rng, nodes):
    return random_problem(rng, nodes, np.arange(nodes - 1), np.arange(1, nodes), 2)


def matrices(problems, b):
    """Problem b as dense data: A, cost, capacity, reward, supply, with the root's row left out."""
    nodes = slice(problems.nodes[b], problems.nodes[b + 1])
    edges = slice(problems.edges[b], problems.edges[b + 1])
    count = problems.nodes[b + 1] - problems.nodes[b]
    a = np.zeros((count, edges.stop - edges.start))
    a[problems.tail[edges], np.arange(a.shape[1])] += 1
    a[problems.head[edges], np.arange(a.shape[1])] -= 1
    return a[1:], nodes, edges


def optimum(problems, b, flow=False):
    """The optimal value, by HiGHS on the split form f = f+ - f-; with the flow and the supplies."""
    a, nodes, edges = matrices(problems, b)
    cost, reward = problems.cost[edges], problems.reward[nodes][1:]
    capacity, supply = problems.capacity[edges], problems.supply[nodes][1:]
    options = {}
    if problems.activity is not None:
        c, r = problems.activity.cost[edges], problems.activity.reward[nodes][1:]
        options = {
            "A_ub": np.concatenate([c, c, -r])[None],
            "b_ub": [-problems.activity.level[b]],
        }
    upper = np.concatenate([capacity, capacity, supply])
    result = linprog(
        np.concatenate([cost, cost, -reward]),
        A_eq=np.hstack([a, -a, -np.eye(len(a))]),
        b_eq=np.zeros(len(a)),
        bounds=np.stack([np.zeros(len(upper)), upper], 1),
        **options,
    )
    assert result.status == 0
    if flow:
        there, back, supplies = np.split(result.x, [a.shape[1], 2 * a.shape[1]])
        return result.fun, there - back, np.concatenate([[0.0], supplies])
    return result.fun


def check(problems, solution, tolerance, share=3.0):
    for b in range(len(problems)):
        a, nodes, edges = matrices(problems, b)
        flow, supply = solution.flow[edges], solution.supply[nodes][1:]
        best = optimum(problems, b)
        scale = max(abs(best), 1e-9)
        assert solution.bound[b] <= best + 1e-5 * scale
        # Missing the activity row by d lowers the optimum by (multiplier) d.
        level = 0.0 if problems.activity is None else problems.activity.level[b]
        slack = share * tolerance * (scale + solution.multiplier[b] * level)
        assert abs(solution.objective[b] - best) <= slack
        value = problems.cost[edges] @ np.abs(flow) - problems.reward[nodes][1:] @ supply
        np.testing.assert_allclose(value, solution.objective[b], rtol=1e-4, atol=1e-6 * scale)
        assert np.all(np.abs(flow) <= problems.capacity[edges] * (1 + 1e-6))
        assert np.all((supply >= 0) & (supply <= problems.supply[nodes][1:] * (1 + 1e-6)))
        reward = np.abs(problems.reward[nodes]).max()
        if problems.activity is None:
            assert np.abs(a @ flow - supply).sum() * reward <= share * tolerance * scale


KINDS = (planar, complete, star, path)


def batch(seed, free):
    """Small problems of all kinds; `free`: as in a first round, all prices 0 and all rewards 1."""
    rng = np.random.default_rng(seed)
    problems = join([KINDS[i % 4](rng, int(rng.integers(4, 30))) for i in range(24)])
    if free:
        problems.cost[:] = 0.0
        problems.reward[problems.reward > 0] = 1.0
    return problems


def exact(problems):
    """An optimal solution, as if it came from the solver."""
    count = len(problems)
    parts = [optimum(problems, b, flow=True) for b in range(count)]
    zero = np.zeros(count)
    value = np.array([part[0] for part in parts])
    flow, supply = (np.concatenate([p[k] for p in parts]) if parts else zero for k in (1, 2))
    return Solution(flow, supply, supply, zero, value, value, zero, zero, zero == 0)


def lead_back(problems):
    reduction = reduce_flows(problems)
    assert len(reduction.problems.supply) <= len(problems.supply)
    solution = expand(reduction, exact(reduction.problems))
    for b in range(len(problems)):
        best = optimum(problems, b)
        assert solution.objective[b] == pytest.approx(best, abs=1e-7)
        a, nodes, edges = matrices(problems, b)
        flow, supply = solution.flow[edges], solution.supply[nodes]
        assert a @ flow == pytest.approx(supply[1:], abs=1e-7)
        value = problems.cost[edges] @ np.abs(flow) - problems.reward[nodes] @ supply
        assert value == pytest.approx(best, abs=1e-7)
    return reduction
