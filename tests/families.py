"""Families of small instances that are hard for one part of the solver or another."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
from oracles import brute_force, random_graph, triangle_milp

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.rows import Rows
from bdcc_jax.primal.links import Links, new_links
from bdcc_jax.separation.odd_wheels import violated_wheels
from bdcc_jax.separation.packing import PackingEngine


def optimum(graph: Graph) -> float:
    """The optimal objective, by enumeration or, where that takes too long, by a MILP."""
    return brute_force(graph) if graph.n <= 9 else triangle_milp(graph)


def links_of(graph: Graph) -> Links:
    """A graph as compiled searches read it."""
    return new_links(graph.n, graph.edges.ravel(), graph.weights)


def wheel(k: int, spoke: float = 1.0, rim: float = -1.0) -> Graph:
    """A hub, node k, and a rim of k nodes: for odd k the cycle inequalities are not enough."""
    nodes = np.arange(k)
    return Graph.from_edges(
        np.concatenate([nodes, nodes]),
        np.concatenate([(nodes + 1) % k, np.full(k, k)]),
        np.repeat([rim, spoke], k),
    )


def wheel_solution(graph: Graph) -> np.ndarray:
    """What the LP over the cycle inequalities says about a wheel: 1 on the rim, else 1/2."""
    return np.where(graph.negative, 1.0, 0.5)


def joined(parts: list[Graph], bridges: list[tuple[int, int, float]] = ()) -> Graph:
    """Instances side by side; ``bridges`` are edges between their nodes as numbered then."""
    offsets = np.cumsum([0] + [part.n for part in parts])
    edges = [part.edges + offset for part, offset in zip(parts, offsets, strict=False)]
    weights = [part.weights for part in parts]
    for u, v, w in bridges:
        edges.append(np.array([[u, v]]))
        weights.append(np.array([w]))
    return Graph(int(offsets[-1]), np.concatenate(edges), np.concatenate(weights))


def chain_of_wheels(sizes: list[int], weight: float, offset: float = 0.0) -> Graph:
    """Wheels, every two neighbours of which are joined by one weak edge at their rims."""
    parts = [wheel(k, 1.0 + offset * i) for i, k in enumerate(sizes)]
    starts = np.cumsum([0] + [part.n for part in parts])
    bridges = [(int(a), int(b) + 1, weight) for a, b in pairwise(starts[:-1])]
    return joined(parts, bridges)


def planar(rng: np.random.Generator, rows: int, columns: int, kind: str = "normal") -> Graph:
    """A grid with one diagonal in every square."""
    grid = nx.grid_2d_graph(rows, columns)
    grid.add_edges_from(
        ((i, j), (i + 1, j + 1)) for i in range(rows - 1) for j in range(columns - 1)
    )
    return signed(rng, grid, kind)


def signed(rng: np.random.Generator, graph: nx.Graph, kind: str = "normal") -> Graph:
    """Random weights on a given graph."""
    graph = nx.convert_node_labels_to_integers(graph)
    u, v = np.array(graph.edges).T
    w = rng.normal(0.3, 1.0, len(u)) if kind == "normal" else rng.integers(-2, 4, len(u))
    return Graph.from_edges(u, v, w, graph.number_of_nodes())


def wheels_in_a_mesh(rng: np.random.Generator, rows: int, columns: int, kind: str) -> Graph:
    """Odd wheels in places here and there of a planar mesh, to which weak edges tie them."""
    mesh = planar(rng, rows, columns, kind)
    places = rng.choice(mesh.n, max(2, mesh.n // 12), replace=False)
    parts = [mesh, *(wheel(int(rng.choice([3, 5]))) for _ in places)]
    starts = np.cumsum([0] + [part.n for part in parts])
    weak = rng.choice([-0.25, 0.25], (len(places), 2)) if kind == "normal" else None
    bridges = []
    for i, (place, start) in enumerate(zip(places, starts[1:], strict=False)):
        for j in range(2):
            w = float(weak[i, j]) if weak is not None else float(rng.choice([-1, 1]))
            bridges.append((int(place), int(start) + j, w))
    return joined(parts, bridges)


def small_instances(seed: int) -> dict[str, Graph]:
    """One small instance of every family."""
    rng = np.random.default_rng(seed)
    kind = ("normal", "ties")[seed % 2]
    return {
        "dense floats": random_graph(rng, 8, 1.0),
        "dense integers": random_graph(rng, 9, 1.0, "ties"),
        "larger": random_graph(rng, 11 + seed % 3, 0.9, kind),
        "sparse": random_graph(rng, 9, 0.35, kind),
        "mesh": planar(rng, 3, 4, kind),
        "components": joined([random_graph(rng, 4, 1.0, kind) for _ in range(3)]),
        "odd wheels": chain_of_wheels([5, 5], 0.5 + seed, 0.1 * seed),
        "glued K4": joined(
            [wheel(3), wheel(3), wheel(3)],
            [(0, 4, 1.0), (5, 8, -1.0), (9, 1, float(rng.choice([-1, 1])))],
        ),
        "Petersen": signed(rng, nx.petersen_graph(), kind),
        "7-wheel": wheel(7, float(rng.choice([0.7, 1.0, 1.3]))),
    }


def valid_rows(graph: Graph, rng: np.random.Generator) -> Rows:
    """Cycle inequalities and odd wheels that some random x violate."""
    if graph.m == 0:
        return Rows.empty()
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    parts = []
    for hub in rng.permutation(graph.n)[:4]:
        x = rng.choice([0.0, 0.5, 1.0], graph.m)
        parts.append(engine.separate(x, Clock(None)).rows)
        parts.append(violated_wheels(graph, np.where((graph.edges == hub).any(axis=1), 0.5, 1.0)))
    return Rows.concatenate(parts)


def random_multipliers(rows: Rows, rng: np.random.Generator, size: float = 1.0) -> np.ndarray:
    """Many of them 0, as in the solution of an LP."""
    return size * rng.random(len(rows)) * (rng.random(len(rows)) < 0.4)
