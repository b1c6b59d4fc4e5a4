"""Check a certificate in exact arithmetic, with nothing but the standard library and NumPy.

Nothing of the solver is used or believed. All weights are whole multiples of some power of two, so
everything here is a whole number in that unit; multipliers are rounded down to it. What a file says
passes ``_fields``, ``_ids`` or ``_row`` first. ``docs/certificates.md`` explains every rule.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, inf
from typing import Any

WORK = 64  # steps for every byte of a certificate, and for every node and edge of its instance
STATUSES = ("optimal", "gap", "time_limit", "max_rounds", "interrupted", "stopped", "numerical")
RULES = ("lp", "presolve", "fixing", "branching", "enumeration", "highs")
JOINS, DROPS = ("dominant", "similar", "secluded", "triangle"), ("attracted", "separated")
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
    """Prove the bounds of a certificate, as in ``Result.certificate``, anew, or raise Rejected."""
    try:
        return _verify(graph, certificate)
    except Rejected:
        raise
    except Exception as error:  # whatever a damaged or forged file provokes
        raise Rejected(f"this is no certificate, or a damaged one ({error!a:.200})") from error


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Rejected(otherwise)


def _fields(said: Any, *lists: str, **types: type) -> list[Any]:
    """What an object says that has these keys and no others, each of exactly this type."""
    types = {**dict.fromkeys(lists, list), **types}
    valid = type(said) is dict and said.keys() == types.keys()
    valid = valid and all(kind in (object, type(said[key])) for key, kind in types.items())
    _require(valid, f"not an object with {', '.join(types)}: {said!a:.80}")
    return [said[key] for key in types]


def _ids(said: Any, below: int, size: int | None = None, least: int = 0) -> list[int]:
    """Different whole numbers; of a given size, they may repeat."""
    valid = type(said) is list and all(type(x) is int and least <= x < below for x in said)
    valid = valid and (len({*said}) == len(said) if size is None else len(said) == size)
    _require(valid, f"not {size or 'different'} numbers from {least} to {below - 1}: {said!a:.80}")
    return list(said)


def _row(said: Any, n: int, shift: int) -> tuple[list[int], int, list[tuple[int, int, int]]]:
    """Nodes, cost and entries of a cycle, or a hub and its rim, times a multiplier."""
    valid = type(said) is list and len(said) > 3 and said[0] in ("cycle", "wheel")
    _require(valid and type(said[1]) is float and said[1] >= 0, f"not a row: {said!a:.80}")
    (a, b), (hub, *rim), wheel = said[1].as_integer_ratio(), _ids(said[2:], n), said[0] == "wheel"
    _require(not wheel or len(rim) % 2 == 1 < len(rim), f"an even rim: {said!a:.80}")
    plus = [*pairwise(rim), (rim[-1], rim[0])] if wheel else [(rim[-1], hub)]
    minus = [(hub, x) for x in rim] if wheel else pairwise([hub, *rim])
    y = (a << shift) // b
    entries = [(u, v, y) for u, v in plus] + [(u, v, -y) for u, v in minus]
    return [hub, *rim], -y * (len(rim) // 2) if wheel else 0, entries


def _verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    content = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    _require(digest == certificate["digest"], "the certificate was changed: its digest is another")
    types = {"format": str, "version": int, "instance": dict, "status": str, "objective": float}
    types |= {"lower_bound": float, "tolerance": float, "labels": list, "proof": dict}
    said = _fields(json.loads(text), **types)  # anew, so that there are no types but those of JSON
    form, version, instance, status, objective, stated, tolerance, labels, proof = said
    known = (form, version) == ("bdcc-jax certificate", 1)
    _require(known, f"unknown format {form!a:.80}, version {version!a:.80}")
    _require(status in STATUSES and tolerance >= 0, f"{status!a:.80} within {tolerance!r}")
    data = graph.edges.astype("<i8").tobytes() + graph.weights.astype("<f8").tobytes()
    n, m, edges = graph.n, graph.m, graph.edges.tolist()
    same = _fields(instance, n=int, m=int, sha256=str) == [n, m, hashlib.sha256(data).hexdigest()]
    _require(same, "the certificate is of another instance")
    ratios = [w.as_integer_ratio() for w in graph.weights.tolist()]
    shift = 64 + max([0, *(b.bit_length() - 1 for _, b in ratios)])  # 64: for the multipliers
    weights = {(u, v): (a << shift) // b for (u, v), (a, b) in zip(edges, ratios, strict=True)}
    _require(len(weights) == m and all(0 <= u < v < n for u, v in weights), "a loop, or twice")
    unit, steps = Fraction(1, 1 << shift), WORK * (len(text) + n + m)
    prover, believer = _Prover(shift, steps), _Prover(shift, steps, believes=True)
    whole = _Graph(_ids(labels, n, size=n), weights, prover.pay)
    upper, slack = unit * whole.cost(), unit * whole.least() / 1000
    _require(float(upper) == objective, f"the labels cost {float(upper)!r}")
    bound = prover.prove(whole, proof)
    optimal, lower = status != "optimal" or whole.optimal(bound), unit * bound
    _require(optimal, "the clustering is not proven to be optimal")
    if stated <= lower + slack:
        return Verdict(upper, lower, ())
    _require(bool(prover.claims), f"no lower bound above {float(lower)!r} is proven")
    claimed = unit * believer.bound(n, weights, proof)
    _require(stated <= claimed + slack, f"HiGHS claims no lower bound above {float(claimed)!r}")
    _require(claimed <= upper + slack, "HiGHS claims a bound that the labels contradict")
    return Verdict(upper, lower, tuple(prover.claims))


class _Prover:
    """One method a rule: each computes a lower bound on an instance by what a proof says."""

    def __init__(self, shift: int, steps: float = inf, believes: bool = False) -> None:
        self._shift, self._steps, self._believes, self.claims = shift, steps, believes, list[str]()

    def pay(self, steps: int) -> None:
        self._steps -= steps
        _require(self._steps >= 0, "the proof asks for more work than its length allows")

    def bound(self, n: int, weights: Weights, proof: Any) -> int:
        return self.prove(_Graph([0] * n, weights, self.pay), proof)

    def prove(self, graph: _Graph, proof: Any) -> int:
        """What every clustering costs at least: a multiple of what divides all weights."""
        rule = proof.get("rule") if type(proof) is dict else None
        _require(rule in RULES, f"this is no certificate: {proof!a:.80} is no proof")
        bound: int = getattr(self, f"_by_{rule}")(graph, proof)
        return -(-bound // graph.unit) * graph.unit

    def _by_enumeration(self, graph: _Graph, proof: Any) -> int:
        """The best clustering of every set of nodes: the cluster of its first one, and the rest."""
        n, _ = len(graph.at), _fields(proof, rule=str)
        _require(n <= 8, f"{n} nodes are too many to look at all clusterings")
        self.pay(3**n)
        kept, best = [0] * (1 << n), [0] * (1 << n)
        for s in range(1, 1 << n):
            others = rest = s & (s - 1)
            at_first = graph.at[(s ^ rest).bit_length() - 1]
            kept[s] = best[s] = kept[rest] + sum(w for v, w in at_first.items() if rest >> v & 1)
            while rest:
                best[s] = max(best[s], kept[s ^ rest] + best[rest])
                rest = (rest - 1) & others
        return kept[-1] - best[-1]

    def _by_lp(self, graph: _Graph, proof: Any) -> int:
        if "part" in proof:
            bound, _, parts = self._divided(graph, proof)
            gaps = [(1000 * (part.cost() - b), part.least()) for part, b in parts or ()]
            graph.met = all(gap <= least for gap, least in gaps) if parts is not None else None
            return bound
        rows = [
            _row(row, len(graph.at), self._shift) for row in _fields(proof, "rows", rule=str)[0]
        ]
        found = []
        for sign in (1, -1):  # the weights are as before then: as much work as the rows are long
            for u, v, amount in (entry for *_, entries in rows for entry in entries):
                graph.add(u, v, sign * amount)
            found.append(graph.negative)
        return found[0] + sum(cost for _, cost, _ in rows)

    def _divided(self, graph: _Graph, proof: Any) -> tuple[int, _Graph, list[Any] | None]:
        """A bound, what is outside of the parts, and the parts if nothing is."""
        rows, part, rule, proofs = _fields(proof, "rows", "part", rule=str, proofs=dict)
        n, bound, outside = len(graph.at), 0, graph.of()
        part = [p if p >= 0 else -1 - x for x, p in enumerate(_ids(part, n, size=n, least=-1))]
        nodes, inside = {p: list[int]() for p in part}, {p: Weights() for p in part}
        ways: dict[int, Any] = {p: [{"rule": "lp", "rows": []}] for p in part}
        _require(rule == "lp" and proofs.keys() <= {*map(str, part)}, "proofs of no part")
        for x, p in enumerate(part):
            nodes[p].append(x)
        local, closed = {x: i for xs in nodes.values() for i, x in enumerate(xs)}, True
        for row in rows:
            ends, cost, entries = _row(row, n, self._shift)
            if len({part[x] for x in ends}) == 1:
                ways[part[ends[0]]][0]["rows"].append([*row[:2], *(local[x] for x in ends)])
                continue
            bound, closed = bound + cost, False
            for entry in entries:
                outside.add(*entry)
        for u, v in outside.weights():
            if part[u] == part[v]:
                inside[part[u]][local[u], local[v]] = outside.add(u, v)
        parts = []
        for p in (p for p in nodes if p >= 0):
            piece = _Graph([graph.labels[x] for x in nodes[p]], inside[p], self.pay)
            ways[p] += proofs.get(str(p), [])
            parts.append((piece, max(self.prove(piece, way) for way in ways[p])))
        bound += outside.negative + sum(b for _, b in parts)
        return bound, outside, parts if closed and not any(outside.at) else None

    def _by_branching(self, graph: _Graph, proof: Any) -> int:
        """Every clustering keeps a pair or cuts it; to do otherwise changes its cost by a price."""
        price, graph = graph.unit << self._shift + 1100, graph.of()  # any multiple is valid
        bounds, paid, todo = [], 0, [list[tuple[int, int, int, int]]() for _ in range(2)]
        for node in _fields(proof, "nodes", rule=str)[0]:
            _require(len(todo) > 1, "more than one tree")
            for u, v, amount, toll in todo.pop():
                graph.add(u, v, amount)
                paid += toll
            if type(node) is list:
                u, v = _ids(node, len(graph.at))
                todo[-1].append((u, v, price, -price))  # when both branches are done
                todo += [[(u, v, -2 * price, price)], [(u, v, price, 0)]]
            else:
                bounds.append(paid + self.prove(graph, node))
        _require(len(todo) == 1, f"{len(todo) - 1} branches of the tree are missing")
        return min(bounds)

    def _by_presolve(self, graph: _Graph, proof: Any) -> int:
        steps, nodes, _, proof = _fields(proof, "steps", "nodes", rule=str, proof=object)
        left = graph.of()
        for step in steps:
            left.step(step)
        rest = left.of(_ids(nodes, len(left.at)))
        bound, slack = self.prove(rest, proof), graph.cost() - left.constant - rest.cost()
        graph.met = rest.optimal(bound) and 1000 * slack <= (rest.least() or graph.least())
        return left.constant + bound

    def _by_fixing(self, graph: _Graph, proof: Any) -> int:
        """A clustering decides otherwise, at a price, or is one of what the decisions leave."""
        *decided, _, lp, proof = _fields(proof, "kept", "cut", rule=str, lp=dict, proof=object)
        bound, outside, _ = self._divided(graph, lp)
        kept, cut = ([_ids(pair, len(graph.at)) for pair in pairs] for pairs in decided)
        prices = [outside.at[u].get(v, 0) for u, v in kept]
        prices += [-outside.at[u].get(v, 0) for u, v in cut]
        otherwise, left = bound + max(0, min(prices)), graph.of()
        left.constant = sum(left.add(u, v) for u, v in cut)
        for u, v in kept:
            left.join(u, v)
        if any(left.find(u) == left.find(v) for u, v in cut):
            return otherwise  # the decisions contradict each other
        rest = left.of([*dict.fromkeys(map(left.find, range(len(left.at))))])
        return min(otherwise, left.constant + self.prove(rest, proof))

    def _by_highs(self, graph: _Graph, proof: Any) -> int:
        _, said, proof = _fields(proof, rule=str, lower_bound=float, proof=object)
        bound, (a, b), weights = self.prove(graph, proof), said.as_integer_ratio(), graph.weights()
        self.pay(len(weights))
        claimed, most = (a << self._shift) // b, min(0, sum(weights.values()))
        _require(1000 * (claimed - most) <= graph.least(), "HiGHS claims what cannot be")
        sizes = f"{len(graph.at)} nodes and {len(weights)} edges: at least {said!r}"
        self.claims.append(f"{sizes} (proven: at least {bound / (1 << self._shift)!r})")
        return max(bound, claimed) if self._believes else bound


class _Graph:
    """An instance and labels. Joined nodes have several names, their slots."""

    def __init__(self, labels: list[int], weights: Weights, pay: Callable[[int], None]) -> None:
        self.labels, self._parent, self._pay = labels, [*range(len(labels))], pay
        self.constant, self.negative, self.unit = 0, 0, gcd(*weights.values()) or 1
        self.at: list[dict[int, int]] = [{} for _ in labels]
        self.met: bool | None = None  # whether the labels are optimal in every piece
        pay(4 * (len(labels) + len(weights)))
        for (u, v), w in weights.items():
            self.add(u, v, w)

    def weights(self) -> Weights:
        return {(u, v): w for u, at in enumerate(self.at) for v, w in at.items() if u < v}

    def least(self) -> int:
        return min(map(abs, self.weights().values()), default=0)

    def cost(self) -> int:
        labels = self.labels
        return sum(w for (u, v), w in self.weights().items() if labels[u] != labels[v])

    def optimal(self, bound: int) -> bool:
        gap = self.cost() - bound
        return gap <= 0 or (1000 * gap <= self.least() if self.met is None else self.met)

    def add(self, a: int, b: int, amount: int | None = None) -> int:
        """Add to a weight, or make it 0; returns what it was."""
        before = self.at[a].pop(b, 0)
        self.at[b].pop(a, None)
        if after := 0 if amount is None else before + amount:
            self.at[a][b] = self.at[b][a] = after
        self.negative += min(0, after) - min(0, before)
        return before

    def find(self, slot: int) -> int:
        while self._parent[slot] != slot:
            self._parent[slot] = slot = self._parent[self._parent[slot]]
        return slot

    def join(self, slot: int, into: int) -> None:
        a, b = sorted(map(self.find, (slot, into)), key=lambda x: len(self.at[x]))
        self._parent[a] = b
        self._pay(len(self.at[a]))
        for y in list(self.at[a]) if a != b else ():
            w = self.add(a, y)
            if y != b:
                self.add(b, y, w)

    def of(self, slots: list[int] | None = None) -> _Graph:
        """The instance of these nodes, or a copy; edges of others are dropped."""
        slots = [*range(len(self.at))] if slots is None else slots
        number = {self.find(slot): i for i, slot in enumerate(slots)}
        _require(len(number) == len(slots), "a node is left twice")
        for u, v in [e for e in self.weights() if not number.keys() >= {*e}]:
            self.constant += min(0, self.add(u, v))
        weights = {(number[u], number[v]): w for (u, v), w in self.weights().items()}
        return _Graph([self.labels[slot] for slot in slots], weights, self._pay)

    def step(self, said: Any) -> None:
        """Make one step; where its rule fails by a bit, that much is taken off the bound."""
        _require(type(said) is list and len(said) > 2, f"not a step: {said!a:.80}")
        rule, known = said[0], len(self.at)
        slots = _ids(said[1:], known + (rule == "split"))
        if rule == "split":
            _require(slots[1] == known, f"slot {slots[1]} is taken")
            self._parent.append(known)
            self.labels.append(self.labels[slots[0]])
            self.at.append({})
            for y in {*map(self.find, slots[2:])} - {a := self.find(slots[0])}:
                self.add(known, y, self.add(a, y))
            return
        a, b, *_ = nodes = [*map(self.find, slots)]
        valid = rule in (*JOINS, *DROPS, "weakened") and len({*nodes}) == len(nodes)
        _require(valid and len(nodes) == 2 + (rule == "triangle"), f"no step: {said!a:.80}")
        if rule in DROPS:
            self.constant += min(0, self.add(a, b))
        elif rule == "weakened":
            self._pay(len(self.at[a]))
            positive = sum(w for w in self.at[a].values() if w > 0)
            self.constant += (less := min(0, self.at[a].get(b, 0) + positive))
            self.add(a, b, -less)
        else:
            # With so much more weight the rule would hold, and no optimum moves by more than that.
            self.constant -= max(0, self._short(rule, nodes))
            for slot in slots[:-1]:
                self.join(slot, slots[-1])

    def _short(self, rule: str, nodes: list[int]) -> int:
        """How much the edges between some nodes fall short of what a rule asks for."""
        w, near = self.at[nodes[0]].get(nodes[1], 0), nodes[: 1 if rule == "dominant" else 3]
        self._pay(sum(len(self.at[x]) for x in near) * (24 if rule == "similar" else 1))
        out = [{y: w for y, w in self.at[x].items() if y not in nodes} for x in near]
        rest = [sum(map(abs, weights.values())) for weights in out]
        if rule == "dominant":
            return rest[0] - w
        if rule == "triangle":
            alone = sum(w for weights in out for w in weights.values() if w > 0)
            inner = [sum(self.at[x].get(y, 0) for y in nodes) for x in nodes]
            apart = min(sum(rest) - max(rest), alone) - sum(inner) // 2
            return max(apart, *(min(r, alone) - i for r, i in zip(rest, inner, strict=True)))
        both = [(out[0].get(x, 0), out[1].get(x, 0)) for x in out[0].keys() | out[1].keys()]
        if rule == "secluded":
            return sum(max(0, x, y) for x, y in both) - w

        def differ(t: int) -> int:  # convex in t
            return sum(abs(t * x - (1024 - t) * y) for x, y in both)

        t = bisect(range(1024), False, key=lambda t: differ(t + 1) >= differ(t))
        return -(-differ(t) // 1024) - w
