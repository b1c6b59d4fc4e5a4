"""Check a certificate in exact arithmetic, with nothing but the standard library and NumPy.

Nothing of the solver is used or believed. All weights are whole multiples of some power of two, so
all of this is arithmetic of whole numbers: weights of edges in that unit, multipliers rounded down
to it. An instance is a number of nodes and a weight for some pairs of them; all other pairs have
weight 0. ``docs/certificates.md`` has the mathematics of every rule.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple, Protocol

import numpy as np

TOLERANCE = Fraction(1, 10**9)
"""A claimed bound must be proven up to this share of the sum of all |w|."""

MOST_NODES = 10
"""Instances with more nodes are not enumerated."""

HALVINGS = 10
"""Of the interval [0, 1] in the search for the t by which two nodes are similar."""

Weights = dict[tuple[int, int], int]


class Rejected(ValueError):
    """The certificate does not prove what it claims, or is not of this instance."""


class Instance(Protocol):
    """What is read of a graph: edges are unique pairs of nodes."""

    n: int
    edges: np.ndarray[Any, np.dtype[np.int64]]
    weights: np.ndarray[Any, np.dtype[np.float64]]


class Bound(NamedTuple):
    """A lower bound that is proven, and what it is if HiGHS is believed; in units."""

    proven: int
    believed: int


@dataclass(frozen=True)
class Verdict:
    """What is true of an instance, by a certificate that was accepted.

    Attributes
    ----------
    upper_bound : Fraction
        What the clustering in the certificate costs.
    lower_bound : Fraction
        What every clustering costs at least: proven.
    believed_bound : Fraction
        The same if the claims of HiGHS' branch and bound are true; else as ``lower_bound``.
    claims : tuple
        These claims: nodes and edges of an instance, the bound claimed, and what is proven. If
        there are none, everything is proven.
    """

    upper_bound: Fraction
    lower_bound: Fraction
    believed_bound: Fraction
    claims: tuple[tuple[int, int, float, float], ...]


def verify(graph: Instance, certificate: dict[str, Any]) -> Verdict:
    """Prove the bounds of a certificate anew.

    Parameters
    ----------
    graph : Graph
        The instance.
    certificate : dict
        What :attr:`bdcc_jax.Result.certificate` returned.

    Raises
    ------
    Rejected
        It does not prove what it claims, was changed, or belongs to another instance.

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
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, Rejected):
            raise
        raise Rejected(f"not a well-formed certificate ({error!r})") from error


def _verify(graph: Instance, certificate: dict[str, Any]) -> Verdict:
    content = {key: value for key, value in certificate.items() if key != "digest"}
    if (content["format"], content["version"]) != ("bdcc-jax certificate", 1):
        raise Rejected(f"unknown format {content['format']!r}, version {content['version']!r}")
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if hashlib.sha256(canonical.encode()).hexdigest() != certificate["digest"]:
        raise Rejected("the digest does not match: the certificate was changed")
    _check_instance(graph, content["instance"])

    ratios = [w.as_integer_ratio() for w in graph.weights.tolist()]
    shift = 64 + max([0, *(b.bit_length() - 1 for _, b in ratios)])  # 64: for the multipliers
    units = [(a << shift) // b for a, b in ratios]
    weights: Weights = {}
    for (u, v), w in zip(graph.edges.tolist(), units, strict=True):
        if not 0 <= u < v < graph.n or (u, v) in weights:
            raise Rejected(f"the instance has a loop, or an edge twice, at {(u, v)}")
        weights[u, v] = w
    scale = Fraction(1, 1 << shift)

    labels = content["labels"]
    if len(labels) != graph.n:
        raise Rejected(f"{len(labels)} labels for {graph.n} nodes")
    upper = scale * sum(w for (u, v), w in weights.items() if labels[u] != labels[v])
    if float(upper) != content["objective"]:
        raise Rejected(f"the labels cost {float(upper)!r}, not {content['objective']!r}")
    tolerance = TOLERANCE * scale * sum(map(abs, units))
    if abs(Fraction(content["tolerance"]) - tolerance) > tolerance / 10**9:
        raise Rejected(f"the tolerance is {float(tolerance)!r}, not {content['tolerance']!r}")
    prover = Prover(shift)
    proven, believed = prover.bound(graph.n, weights, content["proof"])
    if scale * believed < Fraction(content["lower_bound"]) - tolerance:
        raise Rejected(
            f"the lower bound {content['lower_bound']!r} is not proven, only "
            f"{float(scale * believed)!r} is"
        )
    if scale * believed > upper + tolerance:
        raise Rejected("HiGHS claims a bound that the labels contradict")
    if content["status"] == "optimal" and upper - scale * believed > 2 * tolerance:
        raise Rejected("the clustering is not proven to be optimal")
    enough = scale * proven >= Fraction(content["lower_bound"]) - tolerance
    claims = () if enough else tuple(prover.claims)
    return Verdict(upper, scale * proven, scale * believed, claims)


def _check_instance(graph: Instance, claimed: dict[str, Any]) -> None:
    edges, weights = graph.edges.astype("<i8"), graph.weights.astype("<f8")
    fingerprint = hashlib.sha256(edges.tobytes() + weights.tobytes()).hexdigest()
    if claimed != {"n": graph.n, "m": len(weights), "sha256": fingerprint}:
        raise Rejected("the certificate is of another instance")


class Prover:
    """One method a rule; each recomputes a lower bound on an instance from what a proof says."""

    def __init__(self, shift: int) -> None:
        self._shift = shift
        self.claims: list[tuple[int, int, float, float]] = []

    def float(self, units: int) -> float:
        return float(Fraction(units, 1 << self._shift))

    def _units(self, number: float) -> int:
        """A number, rounded down."""
        numerator, denominator = number.as_integer_ratio()
        return (numerator << self._shift) // denominator

    def bound(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        """What every clustering costs at least; a multiple of what divides all weights."""
        rules = {
            "lp": self._lp,
            "enumeration": self._enumeration,
            "presolve": self._presolve,
            "parts": self._parts,
            "fixing": self._fixing,
            "highs": self._highs,
        }
        bounds = rules[proof["rule"]](n, weights, proof)
        unit = gcd(*weights.values())
        return Bound(*(-(-b // unit) * unit if unit else 0 for b in bounds))

    def _lp(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        reduced, constant, _ = self._relax(n, weights, proof, None)
        bound = constant + sum(r for r in reduced.values() if r < 0)
        return Bound(bound, bound)

    def _relax(
        self, n: int, weights: Weights, lp: dict[str, Any], part: list[int] | None
    ) -> tuple[Weights, int, dict[int, list[tuple[list[int], int, bool]]]]:
        """Add the rows, times their multipliers, to the weights; not those inside a part."""
        reduced, constant = dict(weights), 0
        inside: dict[int, list[tuple[list[int], int, bool]]] = {}
        for kind in ("cycle", "wheel"):
            numbers = zip(lp[f"{kind}s"], lp[f"{kind}_multipliers"], strict=True)
            for nodes, multiplier in numbers:
                y = self._units(multiplier)
                if y < 0 or not all(type(node) is int and 0 <= node < n for node in nodes):
                    raise Rejected(f"bad row {nodes} times {multiplier}")
                if part and part[nodes[0]] >= 0 and len({part[node] for node in nodes}) == 1:
                    inside.setdefault(part[nodes[0]], []).append((nodes, y, kind == "wheel"))
                else:
                    constant += add_row(reduced, nodes, y, wheel=kind == "wheel")
        return reduced, constant, inside

    def _enumeration(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        """The best way to divide a set of nodes: the best one for its first node's cluster."""
        if n > MOST_NODES:
            raise Rejected(f"enumeration of an instance with {n} nodes")
        kept = [0] * (1 << n)  # weight inside each set
        for s in range(1 << n):
            kept[s] = sum(w for (u, v), w in weights.items() if s >> u & s >> v & 1)
        best = [0] * (1 << n)
        for s in range(1, 1 << n):
            first = s & -s
            others = rest = s ^ first
            best[s] = kept[s]
            while rest:
                best[s] = max(best[s], kept[s ^ rest] + best[rest])
                rest = (rest - 1) & others
        bound = kept[-1] - best[-1]
        return Bound(bound, bound)

    def _presolve(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        graph = Multigraph(n, weights)
        for rule, *slots in proof["steps"]:
            graph.step(rule, slots)
        number = {graph.at[slot]: i for i, slot in enumerate(proof["nodes"])}
        if len(number) != len(proof["nodes"]):
            raise Rejected("presolve leaves a node twice")
        rest: Weights = {}
        for a, neighbours in enumerate(graph.weights):
            for b, w in neighbours.items():
                if a < b and a in number and b in number:
                    rest[_pair(number[a], number[b])] = w
                elif a < b:
                    graph.constant += min(0, w)
        proven, believed = self.bound(len(number), rest, proof["proof"])
        return Bound(graph.constant + proven, graph.constant + believed)

    def _parts(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        return self._divide(n, weights, proof)[0]

    def _divide(
        self, n: int, weights: Weights, proof: dict[str, Any]
    ) -> tuple[Bound, Weights, list[int]]:
        """The bound, the reduced costs, and the part of every node."""
        part = proof["part"]
        if len(part) != n:
            raise Rejected(f"parts of {len(part)} nodes, not {n}")
        reduced, constant, inside = self._relax(n, weights, proof["lp"], part)
        instances: dict[int, Weights] = {p: {} for p in inside}
        local, sizes = [], dict.fromkeys(part, 0)
        for p in part:
            local.append(sizes[p])
            sizes[p] += 1
        for (u, v), r in reduced.items():
            if part[u] == part[v] >= 0:
                instances.setdefault(part[u], {})[local[u], local[v]] = r
            else:
                constant += min(0, r)
        proven = believed = constant
        for p, instance in instances.items():
            relaxed, bound = dict(instance), 0
            for nodes, y, wheel in inside.get(p, ()):
                bound += add_row(relaxed, [local[node] for node in nodes], y, wheel=wheel)
            bound += sum(r for r in relaxed.values() if r < 0)
            better = Bound(bound, bound)
            if str(p) in proof["proofs"]:
                better = self.bound(sizes[p], instance, proof["proofs"][str(p)])
            proven += max(bound, better.proven)
            believed += max(bound, better.believed)
        return Bound(proven, believed), reduced, part

    def _fixing(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        """A clustering decides otherwise, at a price, or is one of what the decisions leave."""
        (proven, believed), reduced, part = self._divide(n, weights, proof["parts"])
        group = list(range(n))
        prices, dropped, constant = [], set(), 0

        def find(node: int) -> int:
            while group[node] != node:
                group[node] = node = group[group[node]]
            return node

        for sign, decided in ((1, proof["kept"]), (-1, proof["cut"])):
            for u, v in decided:
                inside = part[u] == part[v] >= 0
                prices.append(0 if inside else max(0, sign * reduced.get(_pair(u, v), 0)))
                if sign > 0:
                    a, b = sorted((find(u), find(v)))
                    group[b] = a
                else:
                    dropped.add(_pair(u, v))
        price = min(prices, default=0)
        otherwise = Bound(proven + price, believed + price)
        if any(find(u) == find(v) for u, v in dropped):
            return otherwise  # the decisions contradict each other
        leaders = {a: i for i, a in enumerate(a for a in range(n) if find(a) == a)}
        rest: Weights = {}
        for (u, v), w in weights.items():
            pair = _pair(leaders[find(u)], leaders[find(v)])
            if (u, v) in dropped:
                constant += w
            elif pair[0] != pair[1]:
                rest[pair] = rest.get(pair, 0) + w
        left = self.bound(len(leaders), rest, proof["proof"])
        if not prices:
            return Bound(constant + left.proven, constant + left.believed)
        return Bound(*(min(o, constant + b) for o, b in zip(otherwise, left, strict=True)))

    def _highs(self, n: int, weights: Weights, proof: dict[str, Any]) -> Bound:
        proven, believed = self.bound(n, weights, proof["proof"])
        # HiGHS computes in floating point: its bound may be a bit too high.
        error = sum(map(abs, weights.values())) * TOLERANCE / 2
        claimed = self._units(proof["lower_bound"]) - int(error)
        if claimed > believed:
            self.claims.append((n, len(weights), proof["lower_bound"], self.float(proven)))
        return Bound(proven, max(believed, claimed))


class Multigraph:
    """The instance while the steps of presolve are made; nodes are named by slots."""

    def __init__(self, n: int, weights: Weights) -> None:
        self.at = {slot: slot for slot in range(n)}  # the node of each slot
        self.weights: list[dict[int, int]] = [{} for _ in range(n)]
        for (u, v), w in weights.items():
            self.weights[u][v] = self.weights[v][u] = w
        self.constant = 0

    def step(self, rule: str, slots: list[int]) -> None:
        """Make one step, whatever it costs: where its rule fails by a bit, the bound falls."""
        if rule == "split":
            self._split(*slots[:2], [self.at[slot] for slot in slots[2:]])
            return
        nodes = [self.at[slot] for slot in slots]
        if len(set(nodes)) != (3 if rule == "triangle" else 2):
            raise Rejected(f"step {rule!r} at the nodes {slots}")
        if rule in ("attracted", "separated"):
            self.constant += min(0, self._set(*nodes, 0))
        elif rule == "weakened":
            a, b = nodes
            positive = sum(w for w in self.weights[a].values() if w > 0)
            if (w := self.weights[a].get(b, 0)) < -positive:
                self.constant += w + positive
                self._set(a, b, -positive)
        else:
            missing = {
                "dominant": self._dominant,
                "similar": self._similar,
                "secluded": self._secluded,
                "triangle": self._triangle,
            }[rule](*nodes)
            # With so much more weight on its edges the rule holds; no optimum moves by more.
            self.constant -= max(0, missing)
            for slot in slots[:-1]:
                self._join(slot, slots[-1])

    def _set(self, a: int, b: int, w: int) -> int:
        """Change the weight of an edge; returns what it was."""
        before = self.weights[a].pop(b, 0)
        self.weights[b].pop(a, 0)
        if w:
            self.weights[a][b] = self.weights[b][a] = w
        return before

    def _split(self, slot: int, copy: int, moved: list[int]) -> None:
        if copy in self.at:
            raise Rejected(f"slot {copy} is taken")
        a, b = self.at[slot], len(self.weights)
        self.at[copy] = b
        self.weights.append({})
        for y in moved:
            self._set(b, y, self._set(a, y, 0))

    def _join(self, slot: int, into: int) -> None:
        a, b = self.at[slot], self.at[into]
        if len(self.weights[a]) > len(self.weights[b]):
            a, b = b, a
        self.at[slot] = self.at[into] = b
        for y, w in list(self.weights[a].items()):
            self._set(a, y, 0)
            if y != b:
                self._set(b, y, w + self.weights[b].get(y, 0))

    def _rest(self, a: int, *inside: int) -> int:
        """The sum of |w| at a node, but for the edges to some others."""
        return sum(abs(w) for y, w in self.weights[a].items() if y not in inside)

    def _dominant(self, a: int, b: int) -> int:
        return min(self._rest(a, b), self._rest(b, a)) - self.weights[a].get(b, 0)

    def _pairs(self, a: int, b: int) -> list[tuple[int, int]]:
        of_a, of_b = self.weights[a], self.weights[b]
        return [(of_a.get(x, 0), of_b.get(x, 0)) for x in (of_a.keys() | of_b.keys()) - {a, b}]

    def _similar(self, a: int, b: int) -> int:
        pairs, one = self._pairs(a, b), 1 << HALVINGS
        least, t, width = None, one // 2, one // 2
        while width:
            terms = [(t * x - (one - t) * y, x + y) for x, y in pairs]
            value = -(-sum(abs(term) for term, _ in terms) // one)
            least = value if least is None else min(least, value)
            slope = sum((term > 0) * s - (term < 0) * s for term, s in terms)
            width //= 2
            t += -width if slope > 0 else width
        return (least or 0) - self.weights[a].get(b, 0)

    def _secluded(self, a: int, b: int) -> int:
        return sum(max(0, x, y) for x, y in self._pairs(a, b)) - self.weights[a].get(b, 0)

    def _triangle(self, a: int, b: int, c: int) -> int:
        nodes = a, b, c
        rest = [self._rest(x, *nodes) for x in nodes]
        alone = sum(w for x in nodes for y, w in self.weights[x].items() if w > 0 and y not in nodes)
        ab, ac, bc = (self.weights[x].get(y, 0) for x, y in ((a, b), (a, c), (b, c)))
        two = zip(rest, (ab + ac, ab + bc, ac + bc), strict=True)
        missing = [min(r, alone) - w for r, w in two]
        missing.append(min(sum(rest) - max(rest), alone) - (ab + ac + bc))
        return 3 * max(missing)


def add_row(weights: Weights, nodes: list[int], y: int, *, wheel: bool) -> int:
    """Add y times a row ``omega x <= b`` to the weights; returns ``-b y``.

    A cycle is ``x_first,last - sum of x on the path``, a wheel is a hub and then an odd rim.
    """
    hub, *rim = nodes
    closing = [(rim[-1], rim[0])] if wheel else [(nodes[-1], hub)]
    path = list(zip(rim, rim[1:], strict=False) if wheel else zip(nodes, rim, strict=False))
    spokes = [(hub, x) for x in rim] if wheel else []
    if wheel and (len(rim) % 2 == 0):
        raise Rejected(f"the rim of the wheel {nodes} is even")
    for pairs, sign in ((closing, y), (path, y if wheel else -y), (spokes, -y)):
        for a, b in pairs:
            if a != b:
                pair = _pair(a, b)
                weights[pair] = weights.get(pair, 0) + sign
    return -y * (len(rim) // 2) if wheel else 0


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
