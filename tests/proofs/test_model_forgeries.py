"""Forged proofs of instances with classes, or with numbers of clusters: nothing false passes."""

import random
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from certificates import BARE, signed_again, written
from families import wheel
from forgeries import Original, mutated
from oracles import partitions, random_graph

from bdcc_jax import Graph, Options, Rejected, solve, verify


def exact_cost(graph: Graph, labels: list[int]) -> Fraction | None:
    """What a clustering costs, exactly; None if it does not count."""
    count, numbers = len(set(labels)), graph.constraints
    if count < (numbers.min_clusters or 1) or count > (numbers.max_clusters or graph.n):
        return None
    if any(labels[u] != labels[v] for u, v in numbers.must_link.tolist()):
        return None
    cost = Fraction(0)
    for (u, v), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        cost += Fraction(w) if labels[u] != labels[v] else 0
    if graph.unaries is None:
        return cost
    for cluster in set(labels):
        rows = [graph.unaries[v].tolist() for v in range(graph.n) if labels[v] == cluster]
        sums = [sum(map(Fraction, c)) for c in zip(*rows, strict=True) if np.inf not in c]
        if not sums:
            return None
        cost += min(sums)
    return cost


def instances() -> list[Graph]:
    rng = np.random.default_rng(2)
    found = []
    for i in range(8):
        graph = random_graph(rng, 3 + i % 4, 0.9, ("normal", "ties")[i % 2])
        costs = rng.normal(size=(graph.n, 1 + i % 3))
        if i % 2:
            costs = np.round(4 * costs)
            costs[0, 1:] = np.inf
        found.append(graph.classified(costs))
        found.append(graph.constrained(min_clusters=2, max_clusters=2 + i % 2))
        found.append(graph.constrained(min_clusters=graph.n - 1, must_link=[(0, 1)]))
    return [*found, wheel(5).constrained(max_clusters=2), wheel(5).constrained(min_clusters=4)]


@cache
def originals() -> list[Original]:
    found = []
    for graph in instances():
        costs = [exact_cost(graph, labels) for labels in partitions(graph.n).tolist()]
        optimum = min(cost for cost in costs if cost is not None)
        for options in (Options(), BARE):
            found.append(Original(graph, optimum, written(solve(graph, options=options))))
    return found


KINDS = ("forest", "clique", "one class", "any class", "class")


def more_rows(rng: random.Random, certificate: dict, n: int, k: int) -> None:
    """Rows of the new kinds, right or wrong, where there are rows."""
    proof = certificate["proof"]
    while isinstance(proof, dict) and "rows" not in proof and "proof" in proof:
        proof = proof["proof"]
    rows = proof.get("rows") if isinstance(proof, dict) else None
    if not isinstance(rows, list):
        return
    for _ in range(rng.randrange(3)):
        kind = rng.choice(KINDS)
        y = rng.choice([0.25, 1.0, 2.0, 1e300])
        if kind == "forest":
            nodes = [rng.choice([v, rng.randrange(n)]) for v in range(n)]
        elif kind == "class":
            nodes = [*rng.sample(range(n), 2), *rng.sample(range(n, n + k), rng.randrange(k + 1))]
        else:
            size = rng.randint(2, n) if kind == "clique" else 1
            nodes = rng.sample(range(n + rng.choice([0, 0, k])), size)
        rows.append([kind, y, *nodes])


def attack(count: int, seed: int) -> Counter:
    """Mutate and judge; how many were accepted of each kind of instance."""
    rng, known, accepted = random.Random(seed), originals(), Counter()
    seeds = [[x.certificate["proof"], x.certificate["labels"]] for x in known]
    for _ in range(count):
        original = rng.choice(known)
        graph = original.graph
        certificate = mutated(rng, original, seeds)
        k = 1 if graph.unaries is None else graph.unaries.shape[1]
        if rng.random() < 0.6:
            more_rows(rng, certificate, graph.n, k)
        if "classes" in certificate and rng.random() < 0.1:
            certificate["classes"] = [rng.randrange(-1, k + 1) for _ in range(graph.n)]
        try:
            verdict = verify(graph, signed_again(certificate))
        except Rejected:
            continue
        assert verdict.lower_bound <= original.optimum <= verdict.upper_bound, certificate
        cost = exact_cost(graph, certificate["labels"])
        assert cost is not None
        assert cost <= verdict.upper_bound
        numbers = [w for w in graph.weights.tolist() if w]
        if graph.unaries is not None:
            numbers += [c for c in graph.unaries.ravel().tolist() if c and c < np.inf]
        least = Fraction(min(map(abs, numbers)))
        if certificate["status"] == "optimal":
            assert 1000 * (verdict.upper_bound - original.optimum) <= least, certificate
        accepted["classes" if graph.unaries is not None else "numbers"] += 1
    return accepted


def test_no_forgery_is_accepted():
    accepted = attack(2000, 0)
    assert min(accepted["classes"], accepted["numbers"]) > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_forgery_of_hundreds_of_thousands_is_accepted(seed):
    accepted = attack(30_000, seed)
    assert min(accepted["classes"], accepted["numbers"]) > 500
