"""Check a certificate in exact arithmetic, with nothing but the standard library and NumPy.

Nothing of the solver is used or believed. All weights are whole multiples of some power of two, so
everything here is a whole number in that unit; multipliers are rounded down to it. An instance is a
number of nodes and the weights of some pairs of them. ``docs/certificates.md`` explains every rule.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from math import gcd, isclose
from typing import Any

TOLERANCE = Fraction(1, 10**9)  # a share of the sum of all |w|: bounds are claimed up to this
Weights = dict[tuple[int, int], int]


class Rejected(ValueError):
    """The certificate does not prove what it claims, was changed, or is of another instance."""


@dataclass(frozen=True)
class Verdict:
    """What is true of an instance; without any ``claims``, that is all the certificate says."""

    upper_bound: Fraction  # what the clustering in the certificate costs
    lower_bound: Fraction  # what every clustering costs at least: proven
    claims: tuple[str, ...]  # better bounds on parts of it, which HiGHS' branch and bound claims


def verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    """Prove the bounds of a certificate anew, or raise Rejected.

    Parameters
    ----------
    graph : Graph
        The instance.
    certificate : dict
        A :attr:`bdcc_jax.Result.certificate`.

    Examples
    --------
    >>> import bdcc_jax
    >>> graph = bdcc_jax.Graph(3, [(0, 1), (1, 2), (0, 2)], [2.0, 1.5, -1.0])
    >>> verdict = bdcc_jax.verify(graph, bdcc_jax.solve(graph).certificate)
    >>> verdict.lower_bound, verdict.upper_bound, verdict.claims
    (Fraction(0, 1), Fraction(0, 1), ())
    """
    try:
        return _verify(graph, certificate)
    except Rejected:
        raise
    except Exception as error:  # whatever a damaged or forged file provokes
        raise Rejected(f"this is no certificate, or a damaged one ({error!r})") from error


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Rejected(otherwise)


def _verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    said = {key: value for key, value in certificate.items() if key != "digest"}
    known = said["format"] == "bdcc-jax certificate" and said["version"] == 1
    _require(known, f"unknown format {said['format']!r}, version {said['version']!r}")
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    _require(digest == certificate["digest"], "the certificate was changed: its digest is another")
    data = graph.edges.astype("<i8").tobytes() + graph.weights.astype("<f8").tobytes()
    instance = {"n": graph.n, "m": len(graph.weights), "sha256": hashlib.sha256(data).hexdigest()}
    _require(said["instance"] == instance, "the certificate is of another instance")
    ratios = [w.as_integer_ratio() for w in graph.weights.tolist()]
    shift = 64 + max([0, *(b.bit_length() - 1 for _, b in ratios)])  # 64: for the multipliers
    weights: Weights = {}
    for (u, v), (a, b) in zip(graph.edges.tolist(), ratios, strict=True):
        _require(0 <= u < v < graph.n and (u, v) not in weights, f"a loop, or twice: {(u, v)}")
        weights[u, v] = (a << shift) // b
    unit, labels = Fraction(1, 1 << shift), said["labels"]
    tolerance = TOLERANCE * unit * sum(map(abs, weights.values()))
    _require(isclose(said["tolerance"], tolerance), f"the tolerance is {float(tolerance)!r}")
    _require(len(labels) == graph.n, f"{len(labels)} labels of {graph.n} nodes")
    upper = unit * sum(w for (u, v), w in weights.items() if labels[u] != labels[v])
    _require(float(upper) == said["objective"], f"the labels cost {float(upper)!r}")
    prover = _Prover(shift, said.get("exponent", 0))
    lower, claimed = unit * prover.bound(graph.n, weights, said["proof"]), said["lower_bound"]
    proven = lower >= Fraction(claimed) - tolerance
    _require(proven or bool(prover.claims), f"no lower bound above {float(lower)!r} is proven")
    _require(claimed <= upper + tolerance, "HiGHS claims a bound that the labels contradict")
    met = said["status"] != "optimal" or upper - lower <= 2 * tolerance
    _require(met, "the clustering is not proven to be optimal")
    return Verdict(upper, lower, () if proven else tuple(prover.claims))


class _Prover:
    """One method a rule: each computes a lower bound on an instance by what a proof says."""

    def __init__(self, shift: int, exponent: int = 0) -> None:
        self._shift, self._exponent, self.claims = shift, exponent, list[str]()

    def bound(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        """What every clustering costs at least: a multiple of what divides all weights."""
        bound: int = getattr(self, f"_by_{proof['rule']}")(n, weights, proof)
        unit = gcd(*weights.values()) or 1
        return -(-bound // unit) * unit

    def _units(self, number: float) -> int:
        numerator, denominator = number.as_integer_ratio()
        return (numerator << (self._shift - self._exponent)) // denominator  # rounded down

    def _by_enumeration(self, n: int, weights: Weights, _: dict[str, Any]) -> int:
        """The best clustering of every set of nodes: the cluster of its first one, and the rest."""
        _require(n <= 10, f"{n} nodes are too many to look at all clusterings")
        kept, best = [0] * (1 << n), [0] * (1 << n)
        for s in range(1, 1 << n):
            kept[s] = best[s] = sum(w for (u, v), w in weights.items() if s >> u & s >> v & 1)
            others = rest = s & (s - 1)
            while rest:
                best[s] = max(best[s], kept[s ^ rest] + best[rest])
                rest = (rest - 1) & others
        return kept[-1] - best[-1]

    def _by_lp(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        return self._relaxed(n, weights, proof)[0]

    def _relaxed(self, n: int, weights: Weights, proof: dict[str, Any]) -> tuple[int, Weights]:
        """The bound of the parts and of what is outside of them, and the reduced costs there."""
        part, proofs = proof.get("part", [-1] * n), proof.get("proofs", {})
        numbers, size = {p: count() for p in part}, Counter(part)
        local = [next(numbers[p]) for p in part]
        outside, constant = dict(weights), 0
        rows: dict[int, list[Any]] = {}  # inside each part
        for kind, multiplier, *nodes in proof["rows"]:
            y = self._units(multiplier)
            valid = y >= 0 and all(type(node) is int and 0 <= node < n for node in nodes)
            _require(valid, f"the {kind} {nodes} times {multiplier}")
            if (p := part[nodes[0]]) >= 0 and all(part[node] == p for node in nodes):
                rows.setdefault(p, []).append([kind, multiplier, *map(local.__getitem__, nodes)])
            else:
                constant += _add_row(outside, kind, y, nodes)
        instances: dict[int, Weights] = {p: {} for p in rows}
        for u, v in [pair for pair in outside if part[pair[0]] == part[pair[1]] >= 0]:
            instances.setdefault(part[u], {})[local[u], local[v]] = outside.pop((u, v))
        bound = constant + sum(r for r in outside.values() if r < 0)
        for p, instance in instances.items():
            ways = [{"rule": "lp", "rows": rows.get(p, [])}, *proofs.get(str(p), [])]
            bound += max(self.bound(size[p], instance, way) for way in ways)
        return bound, outside

    def _by_branching(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        """Every clustering keeps an edge or cuts it; the price of doing otherwise is too high."""
        bounds, todo, price = [], [(weights, 0)], 1 << (self._shift + 2048)
        for node in proof["nodes"]:
            w, paid = todo.pop()
            if isinstance(node, dict):
                bounds.append(paid + self.bound(n, w, node))
            else:
                e = _pair(*node)
                todo += [({**w, e: w.get(e, 0) + p}, paid - min(0, p)) for p in (-price, price)]
        _require(not todo, f"{len(todo)} branches of the tree are missing")
        return min(bounds)

    def _by_presolve(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        graph = _Multigraph(n, weights)
        for rule, *slots in proof["steps"]:
            graph.step(rule, slots)
        return self._rest(graph, proof["nodes"], proof["proof"])

    def _by_fixing(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        """A clustering decides otherwise, at a price, or is one of what the decisions leave."""
        bound, reduced = self._relaxed(n, weights, proof["lp"])
        kept, cut = proof["kept"], proof["cut"]
        prices = [s * reduced.get(_pair(*e), 0) for s, es in ((1, kept), (-1, cut)) for e in es]
        otherwise = bound + max(0, min(prices))
        graph = _Multigraph(n, weights)
        graph.constant = sum(graph.set(u, v, 0) for u, v in cut)
        for u, v in kept:
            graph.join(u, v)
        if any(graph.find(u) == graph.find(v) for u, v in cut):
            return otherwise  # the decisions contradict each other
        slots = list(dict.fromkeys(map(graph.find, range(n))))
        return min(otherwise, self._rest(graph, slots, proof["proof"]))

    def _rest(self, graph: _Multigraph, slots: list[int], proof: dict[str, Any]) -> int:
        """The bound of what is left; edges of other nodes than these are dropped."""
        number = {graph.find(slot): i for i, slot in enumerate(slots)}
        edges = [(a, b, w) for a, at in enumerate(graph.weights) for b, w in at.items() if a < b]
        rest = {_pair(number[a], number[b]): w for a, b, w in edges if {a, b} <= number.keys()}
        dropped = sum(min(0, w) for a, b, w in edges if not {a, b} <= number.keys())
        return graph.constant + dropped + self.bound(len(slots), rest, proof)

    def _by_highs(self, n: int, weights: Weights, proof: dict[str, Any]) -> int:
        bound, claimed = self.bound(n, weights, proof["proof"]), float(proof["lower_bound"])
        sizes = f"{n} nodes and {len(weights)} edges: at least {claimed!r}"
        self.claims.append(f"{sizes} (proven: at least {bound / (1 << self._shift)!r})")
        return bound


class _Multigraph:
    """The instance while the steps of presolve are made; nodes are named by slots."""

    def __init__(self, n: int, weights: Weights) -> None:
        self._parent, self.constant = list(range(n)), 0
        self.weights: list[dict[int, int]] = [{} for _ in range(n)]
        for (u, v), w in weights.items():
            self.set(u, v, w)

    def find(self, slot: int) -> int:
        while self._parent[slot] != slot:
            self._parent[slot] = slot = self._parent[self._parent[slot]]
        return slot

    def set(self, a: int, b: int, w: int) -> int:
        """Change the weight of an edge; returns what it was."""
        before = self.weights[a].pop(b, 0)
        self.weights[b].pop(a, None)
        if w:
            self.weights[a][b] = self.weights[b][a] = w
        return before

    def join(self, slot: int, into: int) -> None:
        a, b = sorted(map(self.find, (slot, into)), key=lambda x: len(self.weights[x]))
        self._parent[a] = b
        for y, w in list(self.weights[a].items()) if a != b else ():
            self.set(a, y, 0)
            if y != b:
                self.set(b, y, w + self.weights[b].get(y, 0))

    def step(self, rule: str, slots: list[int]) -> None:
        """Make one step; where its rule fails by a bit, that much is taken off the bound."""
        if rule == "split":
            slot, copy, *neighbours = slots
            _require(copy == len(self.weights), f"slot {copy} is taken")
            self._parent.append(copy)
            self.weights.append({})
            for y in set(map(self.find, neighbours)):
                self.set(copy, y, self.set(self.find(slot), y, 0))
            return
        a, b, *third = nodes = [self.find(slot) for slot in slots]
        _require(len({*nodes}) == len(nodes) == 2 + (rule == "triangle"), f"{rule} {slots}")
        if rule in ("attracted", "separated"):
            self.constant += min(0, self.set(a, b, 0))
        elif rule == "weakened":
            positive = sum(w for w in self.weights[a].values() if w > 0)
            if self.weights[a].get(b, 0) < -positive:
                self.constant += self.set(a, b, -positive) + positive
        else:
            # With so much more weight the rule would hold, and no optimum moves by more than that.
            short = self._triangle(a, b, *third) if third else self._edge(rule, a, b)
            self.constant -= max(0, short)
            for slot in slots[:-1]:
                self.join(slot, slots[-1])

    def _edge(self, rule: str, a: int, b: int) -> int:
        """How much the edge ab falls short of what a rule asks for."""
        at_a, at_b, w = self.weights[a], self.weights[b], self.weights[a].get(b, 0)
        if rule == "dominant":
            return sum(map(abs, at_a.values())) - abs(w) - w
        both = [(at_a.get(x, 0), at_b.get(x, 0)) for x in (at_a.keys() | at_b.keys()) - {a, b}]
        if rule == "secluded":
            return sum(max(0, x, y) for x, y in both) - w

        def differ(t: int) -> int:  # convex in t
            return sum(abs(t * x - (1024 - t) * y) for x, y in both)

        t = bisect(range(1024), False, key=lambda t: differ(t + 1) >= differ(t))
        return -(-differ(t) // 1024) - w

    def _triangle(self, a: int, b: int, c: int) -> int:
        """How much the three edges fall short of what the rule asks for."""
        ab, ac, bc = (self.weights[x].get(y, 0) for x, y in ((a, b), (a, c), (b, c)))
        out = [[w for y, w in self.weights[x].items() if y not in (a, b, c)] for x in (a, b, c)]
        rest, alone = [sum(map(abs, ws)) for ws in out], sum(w for ws in out for w in ws if w > 0)
        short = min(sum(rest) - max(rest), alone) - ab - ac - bc
        two = zip(rest, (ab + ac, ab + bc, ac + bc), strict=True)
        return 3 * max(short, *(min(r, alone) - w for r, w in two))


def _add_row(weights: Weights, kind: str, y: int, nodes: list[int]) -> int:
    """Add y times a row to the weights: a cycle, or a hub and its rim. Returns what it costs."""
    hub, *rim = nodes
    plus, minus = [(nodes[-1], hub)], list(pairwise(nodes))
    if kind == "wheel":
        plus, minus = list(pairwise([*rim, rim[0]])), [(hub, x) for x in rim]
    _require(kind == "cycle" or (kind == "wheel" and len(rim) % 2 == 1), f"the {kind} {nodes}")
    for sign, pairs in ((y, plus), (-y, minus)):
        for e in [_pair(a, b) for a, b in pairs if a != b]:
            weights[e] = weights.get(e, 0) + sign
    return -y * (len(rim) // 2) if kind == "wheel" else 0


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
