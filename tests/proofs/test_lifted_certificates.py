"""Certificates of lifted instances: what a forger may say, and may not."""

import random

import numpy as np
import pytest
from certificates import signed_again, written
from lifted_cases import lifted_grid, lifted_optimum, random_lifted

from bdcc_jax import Graph, Rejected, solve, verify

CHAIN = Graph.from_edges([0, 1], [1, 2], [-2.0, -2.0], lifted=([0], [2], [3.0]))  # optimum -1


def forged(graph, proof, bound, labels=None):
    """A certificate that rests on this proof."""
    begun = written(solve(graph))
    labels = begun["labels"] if labels is None else labels
    cost = float(graph.objective(labels))
    said = {"labels": labels, "objective": cost, "lower_bound": bound, "status": "gap"}
    return signed_again({**begun, **said, "proof": proof})


def rows(*said):
    return {"rule": "lp", "rows": [list(row) for row in said]}


def test_the_cut_that_proves_it():
    # Around node 0: x_01 - x_02 <= 0, and around 2: x_12 - x_02 <= 0.
    proof = rows(("cut", 1.5, 0, 2), ("cut", 1.5, 2, 0))
    assert verify(CHAIN, forged(CHAIN, proof, -1.0)).lower_bound == -1


@pytest.mark.parametrize(
    ("proof", "message"),
    [
        (rows(("cut", 4.0, 0, 2), ("cut", 4.0, 2, 0)), "no lower bound above"),
        (rows(("cut", 1.5, 0, 1)), "no lower bound above"),  # the pair 01 is an edge of the cut
        (rows(("cut", 1.5, 0, 2, 1)), "no lower bound above"),
        (rows(("cut", 1.5, 0, 2, 2)), "not different numbers"),
        (rows(("cut", 1.5, 0, 3)), "not different numbers"),
        (rows(("cut", -1.5, 0, 2)), "no number from"),
        (rows(("cut", 1.5, 0)), "damaged"),
        ({"rule": "presolve", "steps": [], "nodes": [0, 1, 2],
          "proof": rows(("cut", 1.5, 0, 2), ("cut", 1.5, 2, 0))}, "need not be connected"),
        ({"rule": "lp", "rows": [["cut", 1.5, 0, 2]], "part": [0, 0, 0], "proofs": {}},
         "need not be connected"),
    ],
)  # fmt: skip
def test_forgeries(proof, message):
    with pytest.raises(Rejected, match=message):
        verify(CHAIN, forged(CHAIN, proof, -1.0))


def test_cuts_of_ordinary_instances_are_refused():
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [-2.0, 3.0, -2.0])
    with pytest.raises(Rejected, match="need not be connected"):
        verify(graph, forged(graph, rows(("cut", 1.5, 0, 2)), -4.0))


def test_clusters_are_connected():
    labels = [0, 1, 0]
    with pytest.raises(Rejected, match="a cluster is not connected by ordinary edges"):
        verify(CHAIN, forged(CHAIN, rows(), -4.0, labels))


def test_of_the_instance_with_other_lifted_edges():
    other = Graph(3, CHAIN.edges, CHAIN.weights)
    with pytest.raises(Rejected, match="of another instance"):
        verify(other, solve(CHAIN).certificate)


def mutate(rng, node, n):
    """Change something at random in a proof, in place."""
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        if isinstance(node, list) and rng.random() < 0.3:
            node.insert(key, rng.choice([0, 1, n - 1, "cut", "cycle", 1.0, node[key]]))
        elif isinstance(node[key], int):
            node[key] = rng.randrange(n)
        elif isinstance(node[key], float):
            node[key] *= rng.choice([0.5, 2.0, 100.0])
        elif node[key] in ("cut", "cycle", "wheel"):
            node[key] = rng.choice(["cut", "cycle", "wheel", 1, 2])
        return


def attack(count, seed):
    """No mutated proof proves more than is true; how many were accepted."""
    rng, accepted = random.Random(seed), 0
    known = []
    while len(known) < 12:
        source = np.random.default_rng(rng.randrange(2**32))
        graph = lifted_grid(source) if len(known) % 2 else random_lifted(source)
        if graph.lifted is not None and '"cut"' in str(solve(graph).certificate).replace("'", '"'):
            known.append((graph, lifted_optimum(graph), solve(graph).certificate))
    for _ in range(count):
        graph, optimum, certificate = rng.choice(known)
        content = written(type("Result", (), {"certificate": certificate}))
        for _ in range(rng.randint(1, 3)):
            mutate(rng, content["proof"], graph.n)
        content["lower_bound"] = -1e9
        content["status"] = "gap"
        try:
            verdict = verify(graph, signed_again(content))
        except Rejected:
            continue
        accepted += 1
        assert float(verdict.lower_bound) <= optimum + 1e-9
    return accepted


def test_no_forgery_is_accepted():
    assert attack(1000, 0) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_forgery_of_a_hundred_thousand_is_accepted(seed):
    assert attack(10_000, seed) > 500
