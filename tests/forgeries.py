"""Proofs of small instances, and what a forger might make of them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from certificates import BARE, signed_again, written
from families import joined, wheel
from oracles import random_graph

from bdcc_jax import Graph, Options, Rejected, solve, verify
from bdcc_jax.base.clock import Clock
from bdcc_jax.proofs.branching_proof import Branching
from bdcc_jax.proofs.certificate import certificate as graph_certificate
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.semidefinite_tree import SemidefiniteTree
from benchmarks.exact_optimum import exact_optimum, exact_optimum_of

ODD = [True, False, None, -1, -2, 0, 1, 7, 8, 10**9, -(10**30), 2**63, 0.0, -0.0, 1.0, 0.5, -1.0]
ODD += [
    1e308,
    5e-324,
    "",
    "0",
    "-1",
    "lp",
    "cycle",
    "optimal ",
    "\ud800",
    "\x1b[2J",
    [],
    {},
    [0, 0],
]
RULES = ["lp", "presolve", "fixing", "branching", "enumeration", "highs"]
STEPS = ["dominant", "similar", "secluded", "triangle"]
STEPS += ["weakened", "split", "attracted", "separated"]


class Original(NamedTuple):
    graph: Graph
    optimum: Fraction
    certificate: dict


def tree(rng, n, depth, leaf):
    """A binary tree of decisions, as a list; often on few pairs, some by other names."""
    if depth == 0 or rng.random() < 0.2:
        return [leaf()]
    pair = rng.choice([[0, 1], rng.sample(range(n), 2)])
    if rng.random() < 0.1:
        pair = [x - n if rng.random() < 0.5 else x for x in pair]
    return [pair, *tree(rng, n, depth - 1, leaf), *tree(rng, n, depth - 1, leaf)]


def a_proof(rng, n, depth):
    """Any proof of the right form of an instance with n nodes."""
    rules = RULES if depth and n > 1 else ["lp", "enumeration"]
    rule = rng.choice([*rules, "branching", "branching"] if len(rules) > 2 else rules)

    def child(size):
        return a_proof(rng, size, depth - 1)

    def rows():
        found = []
        for _ in range(rng.randrange(4) if n > 1 else 0):
            kind = "wheel" if n > 3 and rng.random() < 0.3 else "cycle"
            nodes = rng.sample(range(n), 4 if kind == "wheel" else rng.randint(2, n))
            if rng.random() < 0.05:
                nodes = [x - n if rng.random() < 0.5 else x for x in nodes]
            found.append([kind, rng.choice([0.25, 1.0, 2.0, 1e308]), *nodes])
        if rng.random() < 0.2:
            vectors = [[rng.randrange(-2, 3) for _ in range(n)] for _ in range(rng.randint(1, 2))]
            found.append(["gram", rng.choice([0.25, 1.0, 2.0]), *vectors])
        return found

    def parts():
        part = [rng.randrange(-1, 3) if n > 2 else -1 for _ in range(n)]
        sizes = Counter(part)
        proofs = {str(p): [child(sizes[p])] for p in sizes if p >= 0} if depth else {}
        return {"rule": "lp", "rows": rows(), "part": part, "proofs": proofs}

    if rule == "enumeration":
        return {"rule": rule}
    if rule == "highs":
        return {"rule": rule, "lower_bound": float(rng.randrange(-9, 2)), "proof": child(n)}
    if rule == "branching":
        return {"rule": rule, "nodes": tree(rng, n, rng.randint(1, 3), lambda: child(n))}
    if rule == "fixing":
        kept, cut = ([rng.sample(range(n), 2) for _ in range(rng.randrange(3))] for _ in "12")
        group = list(range(n))
        for u, v in kept:
            group = [group[v] if g == group[u] else g for g in group]
        left = len(set(group))
        return {"rule": rule, "lp": parts(), "kept": kept, "cut": cut, "proof": child(left)}
    if rule == "presolve":
        steps, slots, joins = [], n, 0
        for _ in range(rng.randrange(3)):
            kind = rng.choice(STEPS)
            if kind == "triangle" and slots < 3:
                continue
            if kind == "split":
                steps.append([kind, *rng.sample(range(slots), 1), slots])
                slots += 1
                continue
            size = 3 if kind == "triangle" else 2
            steps.append([kind, *rng.sample(range(slots), size)])
            joins += (size - 1) * (kind in STEPS[:4])
        kept = rng.sample(range(slots), max(1, slots - joins))
        return {"rule": rule, "steps": steps, "nodes": kept, "proof": child(len(kept))}
    return parts() if rng.random() < 0.5 else {"rule": "lp", "rows": rows()}


def places(value, found, above=None, key=None):
    """All places in a proof, each with what holds it."""
    if above is not None:
        found.append((above, key))
    if isinstance(value, dict):
        for name, item in value.items():
            places(item, found, value, name)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            places(item, found, value, i)
    return found


def mutated(rng, original, seeds):
    """A certificate with another proof, or with some changes, that claims more or less than it."""
    certificate = copy.deepcopy(original.certificate)
    n = original.graph.n
    if rng.random() < 0.5:
        certificate["proof"] = a_proof(rng, n, rng.randint(1, 2))
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        found = places(certificate["proof"], [], certificate, "proof")
        if rng.random() < 0.15:
            found = [(certificate, rng.choice(sorted(certificate)))]
        above, key = rng.choice(found)
        old = above[key]
        change = rng.randrange(9)
        if change == 0:
            above[key] = copy.deepcopy(rng.choice(ODD))
        elif change == 1 and type(old) in (int, float):
            above[key] = type(old)(old + rng.choice([-1, 1, n, -n, 2, 0.5]))
        elif change == 2:
            above[key] = copy.deepcopy(rng.choice(found)[0])
        elif change == 3 and isinstance(old, list) and old:
            old.append(copy.deepcopy(rng.choice(old)))
        elif change == 4 and isinstance(old, list):
            rng.shuffle(old)  # swapped children, nodes, steps
        elif change == 5 and isinstance(above, list):
            del above[key]
        elif change == 6 and isinstance(old, dict) and "rule" in old:
            above[key] = a_proof(rng, rng.randint(1, n), 1)
        elif change == 7:
            above[key] = copy.deepcopy(rng.choice(rng.choice(seeds)))
        elif type(old) is int:
            above[key] = rng.randrange(-2, n + 2)
    if rng.random() < 0.1:
        certificate["exponent"] = rng.choice([0, 1, 9, 63, 1000, -1, 10**9, True, 1.0, "1"])
    if rng.random() < 0.5:  # little is said to follow: it counts what the checker makes of it
        return {**certificate, "lower_bound": -1e6, "status": "gap"}
    if rng.random() < 0.6:  # lies about what follows from it
        claimed = float(original.optimum + rng.choice([0, 1, Fraction(1, 4), 5, -1]))
        certificate["lower_bound"] = claimed
    if rng.random() < 0.3:
        labels = [rng.randrange(n) for _ in range(n)]
        certificate["labels"] = labels
        certificate["objective"] = float(original.graph.objective(labels))
        certificate["lower_bound"] = certificate["objective"]
    if rng.random() < 0.3:
        certificate["status"] = rng.choice(["optimal", "gap", "optimal ", "\ud800"])
    return certificate


def originals():
    """Certificates of instances with 2 to 8 nodes that use every rule between them."""
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 3 + i % 6, 0.9, ("normal", "ties")[i % 2]) for i in range(12)]
    graphs += [Graph(4, [(0, 1), (0, 3), (1, 2), (2, 3)], [1.0, -5.0, 1.0, 1.0])]
    graphs += [Graph(2, [(0, 1)], [w]) for w in (-4.0, 4.0, -0.1)]
    graphs += [wheel(3), wheel(5), wheel(7), joined([wheel(3), wheel(3)])]
    graphs += [Graph(3, [(0, 1), (1, 2), (0, 2)], [5e-324, 1e300, -1.0])]
    graphs += [Graph(5, [(0, 1), (2, 3), (3, 4), (2, 4)], [1e12, 1e-3, 2e-3, -1.5e-3])]
    found = []
    for graph in graphs:
        if graph.m == 0:
            continue
        for options in (Options(), BARE):
            certificate = written(solve(graph, options=options))
            found.append(Original(graph, exact_optimum(graph), certificate))
    return found + [semidefinite(rng, n) for n in (4, 6, 7)]


def semidefinite(rng, n):
    """A certificate of a tree whose leaves have semidefinite matrices."""
    pairs = np.column_stack(np.triu_indices(n, 1))
    graph = Graph(n, pairs, rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0], len(pairs)))
    bounds = Bounds(graph)
    tree = SemidefiniteTree(Branching(graph), bounds, Clock(None), lambda x: None)
    for _ in range(9):
        if tree.lower_bound.value < bounds.cutoff:
            tree.grow()
    proof, lower = tree.lower_bound.proof, tree.lower_bound.value
    certificate = graph_certificate(
        graph, bounds.labels, proof, status="gap", objective=bounds.upper,
        lower_bound=lower, tolerance=0.0,
    )  # fmt: skip
    return Original(graph, exact_optimum(graph), json.loads(json.dumps(certificate)))


def judge(original, certificate):
    """Nothing false is accepted: returns whether it was accepted at all."""
    graph, optimum, _ = original
    try:
        verdict = verify(graph, signed_again(certificate))
    except Rejected:
        return False
    assert verdict.lower_bound <= optimum <= verdict.upper_bound, certificate
    least = Fraction(min(map(abs, graph.weights.tolist())))
    if not verdict.claims:
        assert Fraction(certificate["lower_bound"]) <= optimum + least / 1000, certificate
    if certificate["status"] == "optimal":
        for excess, weight in excesses(graph, certificate["labels"]):
            assert 1000 * excess <= weight, certificate
    return True


def excesses(graph, labels):
    """By how much the labels miss the optimum of every component, and the |w| there."""
    component = graph.components(np.ones(graph.m, dtype=bool)).tolist()
    for c in set(component):
        nodes = [x for x in range(graph.n) if component[x] == c]
        number = {x: i for i, x in enumerate(nodes)}
        pairs = zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
        weights = {(number[u], number[v]): Fraction(w) for (u, v), w in pairs if u in number}
        names = [labels[x] for x in nodes]
        cost = sum(w for (u, v), w in weights.items() if names[u] != names[v])
        yield cost - optimum_of(tuple(weights.items()), len(nodes)), sum(map(abs, weights.values()))


@cache
def optimum_of(weights, n):
    return exact_optimum_of(n, dict(weights))
