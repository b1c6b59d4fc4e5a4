"""Independent ways to the truth, which share no code with the solver."""

from __future__ import annotations

import gzip
import os
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from bdcc_jax import Graph

DATA = Path(os.environ.get("BDCC_DATA", Path(__file__).parents[2] / "shared" / "data"))


@cache
def partitions(n: int) -> np.ndarray:
    """All set partitions of n nodes as restricted growth strings, one a row."""
    rows = np.zeros((1, 1), dtype=np.int8)
    for _ in range(n - 1):
        largest = rows.max(axis=1)
        rows = np.concatenate(
            [
                np.pad(rows[largest >= label - 1], ((0, 0), (0, 1)), constant_values=label)
                for label in range(largest.max() + 2)
            ]
        )
    return rows


def all_cuts(graph: Graph) -> np.ndarray:
    """The cut vector of every partition, one a row."""
    labels = partitions(graph.n)
    return labels[:, graph.edges[:, 0]] != labels[:, graph.edges[:, 1]]


def brute_force(graph: Graph) -> float:
    """The optimal objective by enumeration."""
    return float((all_cuts(graph) @ graph.weights).min(initial=0.0))


def cost_with_classes(graph: Graph, costs: np.ndarray, labels: np.ndarray) -> float:
    """What a clustering costs whose clusters have classes, each the best one for it."""
    total = float(graph.weights[labels[graph.edges[:, 0]] != labels[graph.edges[:, 1]]].sum())
    for cluster in np.unique(labels):
        total += float(costs[labels == cluster].sum(axis=0).min())
    return total


def best_with_classes(graph: Graph, costs: np.ndarray, allowed: np.ndarray | None = None) -> float:
    """The least cost of all clusterings, or of those that are allowed, with classes."""
    every = partitions(graph.n) if allowed is None else allowed
    return min((cost_with_classes(graph, costs, labels) for labels in every), default=np.inf)


def triangle_milp(graph: Graph) -> float:
    """The optimal objective of the complete formulation: a variable a pair, triangle rows."""
    n = graph.n
    pair = {p: i for i, p in enumerate(combinations(range(n), 2))}
    cost = np.zeros(len(pair))
    for (u, v), w in zip(graph.edges.tolist(), graph.weights, strict=True):
        cost[pair[u, v]] = w
    rows = []
    for triple in combinations(range(n), 3):
        for a, b, c in permutations(triple):
            if a < c:  # x_ac <= x_ab + x_bc
                row = np.zeros(len(pair))
                row[pair[a, c]] = 1
                row[pair[tuple(sorted((a, b)))]] = row[pair[tuple(sorted((b, c)))]] = -1
                rows.append(row)
    result = milp(
        cost,
        constraints=LinearConstraint(np.array(rows), ub=0),
        integrality=np.ones(len(pair)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    assert result.success
    return float(result.fun)


def random_graph(rng: np.random.Generator, n: int, density: float, kind: str = "normal") -> Graph:
    """A random signed graph; 'ties' has small integer weights, so that many optima tie."""
    u, v = np.triu_indices(n, 1)
    chosen = rng.random(len(u)) < density
    u, v = u[chosen], v[chosen]
    w = rng.normal(size=len(u)) if kind == "normal" else rng.integers(-2, 3, len(u))
    return Graph.from_edges(u, v, w, n)


def instance(name: str) -> Graph:
    """An instance of the data folder, or a visible skip where there is none."""
    path = DATA / f"{name}.txt.gz"
    if not path.exists():
        pytest.skip(f"no {path.name}: set BDCC_DATA to the folder that holds {name}.txt.gz")
    with gzip.open(path, "rt") as file:
        u, v, w = np.loadtxt(file, skiprows=1).T
    return Graph.from_edges(u, v, w)


def instances(family: str) -> list[str]:
    """The names of a family; a placeholder, which skips, where there is no data."""
    found = sorted(DATA.glob(f"{family}/*.txt.gz"))
    return [f"{family}/{p.name.removesuffix('.txt.gz')}" for p in found] or [f"{family}/absent"]
