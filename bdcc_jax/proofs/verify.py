"""Check a certificate in exact arithmetic, with the standard library: see docs/certificates.md."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import gcd, inf
from operator import mul
from typing import Any, NamedTuple

from .verify_prices import Sets

WORK = 64  # steps for every byte of a certificate, and for every node and edge of its instance
STATUSES = ("optimal", "gap", "time_limit", "max_rounds", "interrupted", "stopped", "numerical")
JOINS, LOOSENS = ("dominant", "similar", "secluded"), ("attracted", "separated", "weakened")


class Rejected(ValueError):
    """The certificate does not prove what it claims, was changed, or is of another instance."""


class Verdict(NamedTuple):
    """What is true of an instance; without any ``claims``, that is all the certificate says."""

    upper_bound: Fraction  # what the clustering in the certificate costs
    lower_bound: Fraction  # what every clustering costs at least: proven
    claims: tuple[str, ...]  # better bounds on parts of it, which HiGHS' branch and bound claims


def verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    """Prove the bounds of a certificate, a ``Result.certificate``, anew, or raise Rejected."""
    try:
        return _verify(graph, certificate)
    except Rejected:
        raise
    except Exception as error:  # whatever a damaged or forged file provokes
        raise Rejected(f"this is no certificate, or a damaged one ({error!a:.200})") from error


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Rejected(otherwise)


def _ids(said: Any, below: int, size: int | None = None, least: int = 0) -> list[int]:
    valid = type(said) is list and all(type(x) is int and least <= x < below for x in said)
    valid = valid and (len({*said}) == len(said) if size is None else len(said) == size)
    _require(valid, f"not {size or 'different'} numbers from {least} to {below - 1}: {said!a:.80}")
    return list(said)


def _number(said: Any, least: float = -inf) -> Fraction:  # the door for all others
    _require(type(said) is float and said >= least, f"no number from {least} on: {said!a:.80}")
    return Fraction(said)


def _verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    said = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    _require(digest == certificate["digest"], "the certificate was changed: its digest is another")
    said = json.loads(text)  # anew, so that there are no types but those of JSON, and no NaN
    limits = [graph.constraints.must_link, graph.constraints.cannot_link, graph.constraints.groups]
    limits = [part.astype("<i8") for part in limits if part is not None]
    data = graph.edges.astype("<i8").tobytes() + graph.weights.astype("<f8").tobytes()
    if sum(map(len, limits)):
        data += b"".join(len(part).to_bytes(8, "little") + part.tobytes() for part in limits)
    least, most = graph.constraints.min_clusters, graph.constraints.max_clusters
    data += b"" if least is None else f"min_clusters {least}".encode()
    data += b"" if most is None else f"max_clusters {most}".encode()
    if graph.lifted is not None:
        data += b"lifted" + graph.lifted.astype("?").tobytes()
    if graph.unaries is not None:
        data += b"unaries" + graph.unaries.astype("<f8").tobytes()
    n, m, sha256 = graph.n, len(graph.edges), hashlib.sha256(data).hexdigest()
    form, version, status, proof = (said[key] for key in ("format", "version", "status", "proof"))
    actual = json.dumps(["bdcc-jax certificate", 1, {"m": m, "n": n, "sha256": sha256}])
    same = json.dumps([form, version, said["instance"]], sort_keys=True) == actual  # 1 is not True
    _require(same, f"of another instance, or unknown format {form!a:.80}, version {version!a:.80}")
    costs = [] if graph.unaries is None else graph.unaries.tolist()
    priced = [(v, n + k, c) for v, row in enumerate(costs) for k, c in enumerate(row) if c < inf]
    ratios = [w.as_integer_ratio() for w in [*graph.weights.tolist(), *(c for *_, c in priced)]]
    shift = 64 + max([0, *(b.bit_length() - 1 for _, b in ratios)])  # 64: for the multipliers
    edges = dict.fromkeys((u, v) for u, v in graph.edges.tolist() if 0 <= u < v < n)
    edges |= dict.fromkeys((v, k) for v, k, _ in priced)  # a node a class, behind all others
    weights = {e: (a << shift) // b for e, (a, b) in zip(edges, ratios, strict=True)}
    small = all(abs(a) < b for a, b in ratios)  # so that another unit makes none less whole
    inner = shift - _ids([said.get("exponent", 0)], shift if small else 1)[0]  # unit of the proof
    must, cannot, *groups = lists = [part.tolist() for part in limits]
    outermost = lists if proof["rule"] == "constraints" else []  # whose nodes are the user's
    unit = Fraction(1, 1 << shift)
    prover = _Prover(inner, WORK * (len(text) + n + m + len(priced)), limits=outermost)
    labels = _ids(said["labels"], n, size=n)
    inside = [(x, g) for x, g in zip(labels, *groups, strict=True) if g >= 0] if groups else []
    kept = all(labels[u] == labels[v] for u, v in must) and len({*inside}) == len(inside)
    apart = all(labels[u] != labels[v] for u, v in cannot)
    _require(kept and apart, "the clustering violates a constraint of the instance")
    _require((least or 1) <= len({*labels}) <= (most or n), f"there are {len({*labels})} clusters")
    whole = _Graph(labels + [0] * len(costs[0] if costs else []), weights, prover)
    whole.numbers = None if least is most is None else (least or 1, most or n)
    if costs:
        whole.classify(_ids(said["classes"], len(costs[0]), size=n), edges)
    if graph.lifted is not None:
        pairs = zip(graph.edges.tolist(), graph.lifted.tolist(), strict=True)
        whole.connect([pair for pair, is_lifted in pairs if not is_lifted])
    upper, slack = unit * whole.cost(), unit * whole.least() / 1000
    _require(float(upper) == _number(said["objective"]), f"the labels cost {float(upper)!r}")
    _require(_number(said["tolerance"], 0.0) >= 0 and status in STATUSES, f"{status!a:.80}")
    lower, stated = unit * (bound := prover.prove(whole, proof)), _number(said["lower_bound"])
    _require(status != "optimal" or whole.near(bound, whole.met), "it is not proven to be optimal")
    if stated <= lower + slack:
        return Verdict(upper, lower, ())
    _require(bool(prover.claims), f"no lower bound above {float(lower)!r} is proven")
    believer = _Prover(inner, prover.steps, True, outermost)
    claimed = unit * believer.prove(whole.copy(prover=believer), proof)
    _require(stated - slack <= claimed <= upper + slack, "HiGHS claims what labels contradict")
    return Verdict(upper, lower, tuple(prover.claims))


class _Prover:  # a method a rule proves a lower bound; the keys of a proof are its arguments
    def __init__(
        self, shift: int, steps: float = inf, believes: bool = False, limits: Any = ()
    ) -> None:
        self.shift, self.steps, self._believes, self.claims = shift, steps, believes, list[str]()
        self._limits = limits  # for the outermost rule, if that is the one that knows of them

    def pay(self, steps: float) -> None:
        self.steps -= steps
        _require(self.steps >= 0, "the proof asks for more work than its length allows")

    def row(self, graph: _Graph, kind: Any, factor: Any, *nodes: Any) -> tuple[int, Any]:
        y = int(_number(factor, 0.0) * 2**self.shift)
        if kind in ("forest", "clique", "one class", "any class", "class"):
            b, plus, minus = getattr(graph, "row_of_" + kind.replace(" ", "_"))([*nodes])
            return -y * b, [(*e, y) for e in plus] + [(*e, -y) for e in minus]
        if kind == "gram":  # vectors v: the sum of v(C)^2 over the clusters C is not negative
            return graph.row_of_gram(y, [*nodes])
        hub, *rim = _ids([*nodes], len(graph.at) - graph.terminals)  # classes are on no cycle
        k, b, plus, minus = len(rim), 0, [(rim[-1], hub)], [*pairwise(nodes)]
        if kind == "wheel" and k % 2 == 1 < k:
            b, plus, minus = k // 2, [*pairwise(rim), (rim[-1], rim[0])], [(hub, x) for x in rim]
        elif kind == "cut":  # some ordinary edge that leaves the set of all but rim[0] is kept
            _require(bool(graph.connecting), "a cut where clusters need not be connected")
            side = {*nodes} - {rim[0]}
            self.pay(sum(len(graph.connecting[x]) for x in side))
            plus = [(x, z) for x in side for z in graph.connecting[x] if z not in side]
            b, minus = len(plus) - 1, [(hub, rim[0])]
        elif kind != "cycle":  # how many nodes are on the first side of a 2-partition
            (p,), d = _ids([kind], k + 1), abs(k + 1 - 2 * kind)
            self.pay(3 * k * k)
            plus = [*combinations(nodes[:p], 2), *combinations(nodes[p:], 2)]
            b, minus = d * (d - 1) // 2, [*product(nodes[:p], nodes[p:])]
        return -y * b, [(*e, y) for e in plus] + [(*e, -y) for e in minus]

    def bound(self, n: int, weights: Any, proof: Any) -> int:
        return self.prove(_Graph([0] * n, weights, self), proof)

    def prove(self, graph: _Graph, proof: Any) -> int:
        rule, said = proof["rule"], {key: value for key, value in proof.items() if key != "rule"}
        _require(hasattr(self, f"_by_{rule}"), f"this is no certificate: the rule {rule!a:.80}")
        plain = not graph.terminals or rule in ("branching", "constraints", "highs")
        _require(plain or (rule == "lp" and "part" not in proof), f"{rule!a:.80} beside classes")
        bound: int = getattr(self, f"_by_{rule}")(graph, **said)
        return -(-bound // graph.unit) * graph.unit  # every clustering costs a multiple of it

    def _by_enumeration(self, graph: _Graph) -> int:
        n, edges = len(graph.at), graph.weights().items()
        self.pay(3**n if n <= 8 else inf)
        kept = [sum(w for (u, v), w in edges if s >> u & s >> v & 1) for s in range(1 << n)]
        best = [*kept]  # of every set of nodes: the cluster of its first one, and the rest
        for s in range(1 << n):
            others = rest = s & (s - 1)
            while rest:
                best[s] = max(best[s], kept[s ^ rest] + best[rest])
                rest = (rest - 1) & others
        return kept[-1] - best[-1]

    def _by_lp(self, graph: _Graph, rows: Any, part: Any = None, proofs: Any = None) -> int:
        if part is not None:
            return int(self._divided(graph, rows, part, proofs, "lp")[0])
        read = [self.row(graph, *row) for row in rows]
        bound = graph.take(read, 1) + graph.negative
        graph.take(read, -1)  # undone: no more work than the rows are long
        return bound

    def _divided(self, graph: _Graph, rows: Any, part: Any, proofs: Any, rule: str) -> Any:
        n, outside = len(graph.at), graph.copy()
        nodes: dict[int, list[int]] = {p: [] for p in [-1, *_ids(part, n, size=n, least=-1)]}
        for x, p in enumerate(part):
            nodes[p].append(x)
        local = {x: i for xs in nodes.values() for i, x in enumerate(xs)}
        own: dict[int, list[Any]] = {p: [] for p in nodes}
        for kind, factor, *ends in rows:
            p = part[ends[0]] if len({part[x] for x in _ids(ends, n)}) == 1 else -1
            own[p].append([kind, factor, *(local[x] if p >= 0 else x for x in ends)])
        crossing, _ = [self.row(graph, *row) for row in own.pop(-1)], nodes.pop(-1)
        _require(rule == "lp" and proofs.keys() <= {*map(str, nodes)}, "a proof of no part")
        bound, good = outside.take(crossing, 1), []
        for p, xs in nodes.items():
            ways = [{"rule": "lp", "rows": own[p]}, *proofs.get(str(p), [])]
            piece = outside.without(xs)
            bound += (best := max(self.prove(piece, way) for way in ways))
            good.append(piece.near(best))
        graph.met = None if crossing or any(outside.at) else all(good)
        return bound + outside.negative, outside

    def _by_prices(self, graph: _Graph, prices: list[Any], heaviest: Any, sets: list[Any]) -> int:
        def number(said: Any) -> int:
            return int(_number(said, 0.0) * 2**self.shift)

        n = len(graph.at)
        _require(len(prices) == n and not graph.connecting, f"not {n} prices of nodes")
        self.pay(2 * n * n)
        paid, worth = (
            [number(p) for p in prices],
            [[at.get(v, 0) for v in range(n)] for at in graph.at],
        )
        known = Sets(worth, paid, number(heaviest), number, self.pay)
        left, most = {*range(n)}, sum(paid)
        for anchor, tree in sets:  # of every set one node comes first
            left.remove(anchor)
            most += max(0, -(-known.above([anchor], {*left}, tree) // 4))
        _require(not left, f"sets of nodes {sorted(left)} are missing")
        return sum(graph.weights().values()) - most

    def _by_branching(self, graph: _Graph, nodes: Any) -> int:
        price = graph.unit * (1 + (1 << self.shift + 1100) // graph.unit)  # so unit stays valid
        graph, bounds, paid, todo = graph.copy(), list[int](), 0, [list[Any](), []]
        for node in nodes:
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

    def _by_presolve(self, graph: _Graph, steps: Any, nodes: Any, proof: Any) -> int:
        left = graph.copy(sum(step[0] == "split" for step in steps))
        for step in steps:
            left.step(*step)
        rest = left.without(_ids(nodes, len(left.at)))
        constant, bound = left.constant + left.negative, self.prove(rest, proof)
        met = rest.near(bound, rest.met) and graph.near(rounded := constant + rest.cost())
        graph.met = met and 1000 * (graph.cost() - rounded) <= (rest.least() or inf)
        return constant + bound

    def _by_fixing(self, graph: _Graph, lp: Any, kept: Any, cut: Any, proof: Any) -> int:
        bound, outside = self._divided(graph, **lp)
        kept, cut = ([_ids(pair, len(graph.at)) for pair in pairs] for pairs in (kept, cut))
        prices = [s * outside.at[u].get(v, 0) for s, es in ((1, kept), (-1, cut)) for u, v in es]
        otherwise, left, graph.met = bound + max(0, min(prices)), graph.copy(), None
        constant = sum(left.add(u, v, None) for u, v in cut)
        for u, v in kept:
            left.join(u, v)
        possible = all(left.find(u) != left.find(v) for u, v in cut)
        rest = left.without([*dict.fromkeys(map(left.find, range(len(left.at))))])
        return int(min(otherwise, constant + self.prove(rest, proof)) if possible else otherwise)

    def _by_constraints(self, graph: _Graph, apart: Any, proof: Any) -> int:
        (must, cannot, *groups), self._limits, left = self._limits, (), graph.copy()
        for u, v in must:
            left.join(u, v)
        cannot, constant = {(u, v) for u, v in cannot}, 0
        for u, v, amount in apart:
            x, y = sorted(_ids([u, v], len(graph.at)))
            group = {g[x] if g[x] == g[y] else -1 for g in groups} - {-1}
            _require((x, y) in cannot or bool(group), f"nodes {x} and {y} may be together")
            constant += (taken := int(_number(amount, 0.0) * 2**self.shift))
            _require(left.find(x) != left.find(y), f"nodes {x} and {y} must be together")
            left.add(left.find(x), left.find(y), -taken)
        rest = left.without([*dict.fromkeys(map(left.find, range(len(left.at))))], all_of_it=True)
        bound = self.prove(rest, proof)
        graph.met = rest.near(bound, rest.met) or None  # if not, the user's weights decide
        return constant + bound

    def _by_highs(self, graph: _Graph, lower_bound: Any, proof: Any) -> int:
        claimed, bound = _number(lower_bound) * (1 << self.shift), self.prove(graph, proof)
        self.pay(len(graph.at))
        sizes = f"{len(graph.at)} nodes and {sum(map(len, graph.at)) // 2} edges: at least"
        self.claims.append(f"{sizes} {lower_bound!r} (proven: at least {bound / 2**self.shift!r})")
        return max(bound, claimed // 1) if self._believes else bound


class _Graph:  # an instance, and labels; joined nodes have several names, their slots
    def __init__(self, labels: list[int], weights: Any, prover: _Prover, unit: int = 0) -> None:
        self.labels, self._parent, self._prover = labels, [*range(len(labels))], prover
        self.constant, self.negative, self.unit = 0, 0, unit or gcd(*weights.values()) or 1
        self.at: list[dict[int, int]] = [{} for _ in labels]
        self.met: bool | None = None  # whether the labels are optimal in every piece
        self.connecting: list[set[int]] = []  # the ordinary edges, where others are lifted
        self.numbers: tuple[int, int] | None = None  # of clusters, where there are limits
        self.terminals, self.classes, self.may = 0, list[int](), list[set[int]]()  # the last nodes
        prover.pay(4 * (len(labels) + len(weights)))
        for (u, v), w in weights.items():
            self.add(u, v, w)

    def copy(self, more: int = 0, prover: _Prover | None = None) -> _Graph:
        labels, prover = self.labels + [0] * more, prover or self._prover
        copied = _Graph(labels, self.weights(), prover, self.unit)
        if more == 0:
            copied.connecting, copied.numbers = self.connecting, self.numbers
            copied.terminals, copied.classes = self.terminals, self.classes
            copied.may = [*self.may]
        return copied

    def classify(self, classes: list[int], pairs: Any) -> None:  # edges, and (node, its class)
        self.classes, self.may = classes, [set() for _ in self.at]
        self.terminals = len(self.at) - len(classes)
        for v, t in pairs:
            self.may[v] |= {t} if t >= len(classes) else set()
        own, alike = len(classes), dict(zip(self.labels, classes, strict=False))
        of_cluster = all(alike[x] == c for x, c in zip(self.labels, classes, strict=False))
        possible = all(own + c in self.may[v] for v, c in enumerate(classes))
        _require(of_cluster and possible, "a cluster has no class, or one that it cannot have")

    def row_of_forest(self, up: list[int]) -> Any:  # a node or itself for every node
        _require(self.numbers is not None, "a forest where any number of clusters will do")
        n, parts = len(self.at), _Graph(self.labels, {}, self._prover)
        edges = [(v, u) for v, u in enumerate(_ids(up, n, size=n)) if u != v]
        for v, u in edges:
            _require(parts.find(v) != parts.find(u), "a forest with a cycle")
            parts.join(v, u)
        return n - len(edges) - (self.numbers or (1, n))[0], [], edges

    def row_of_clique(self, nodes: list[int]) -> Any:
        _require(self.numbers is not None, "a clique where any number of clusters will do")
        p, k = len(_ids(nodes, len(self.at))), (self.numbers or (1, len(self.at)))[1]
        self._prover.pay(3 * p * p)
        t, q = divmod(p, k)  # with clusters of equal size the fewest pairs are kept
        kept = q * (t + 1) * t // 2 + (k - q) * t * (t - 1) // 2
        return p * (p - 1) // 2 - kept, [*combinations(nodes, 2)], []

    def row_of_gram(self, y: int, vectors: list[Any]) -> tuple[int, Any]:
        n = len(self.at) - self.terminals
        self._prover.pay(n * n * (3 + len(vectors)))
        valid = all(type(v) is list and len(v) == n for v in vectors)
        valid = valid and all(type(x) is int and abs(x) < 2**64 for v in vectors for x in v)
        _require(valid, f"not {n} whole numbers a vector")
        at = [*zip(*vectors, strict=True)]
        pairs = [(i, j, sum(map(mul, at[i], at[j]))) for i, j in combinations(range(len(at)), 2)]
        return -y * sum(sum(v) ** 2 for v in vectors), [(i, j, 2 * y * z) for i, j, z in pairs if z]

    def row_of_one_class(self, nodes: list[int]) -> Any:
        (v,) = self._unclassed(nodes)
        self._prover.pay(len(self.may[v]))
        return 1, [(v, t) for t in self.may[v]], []

    def row_of_any_class(self, nodes: list[int]) -> Any:
        _, plus, _ = self.row_of_one_class(nodes)
        return -1, [], plus

    def row_of_class(self, nodes: list[int]) -> Any:  # v, u, classes: if v has one of them, not u
        (v, u), some = self._unclassed(nodes[:2]), {*_ids(nodes[2:], len(self.at))}
        away = [(u, t) for t in some & self.may[u]]
        return 0, [(v, t) for t in some & self.may[v]], [*away, (u, v)]

    def _unclassed(self, nodes: list[int]) -> list[int]:
        _require(self.terminals > 0, "classes where there are none")
        return _ids(nodes, len(self.at) - self.terminals)

    def connect(self, edges: list[list[int]]) -> None:  # by the ordinary ones, if some are lifted
        self.connecting, parts = [set() for _ in self.at], _Graph(self.labels, {}, self._prover)
        for u, v in edges:
            self.connecting[u].add(v)
            self.connecting[v].add(u)
            if self.labels[u] == self.labels[v]:
                parts.join(u, v)
        count = len({*map(parts.find, range(len(self.at)))})
        _require(count == len({*self.labels}), "a cluster is not connected by ordinary edges")

    def weights(self) -> dict[tuple[int, int], int]:
        return {(u, v): w for u, at in enumerate(self.at) for v, w in at.items() if u < v}

    def least(self) -> int:
        return min(map(abs, self.weights().values()), default=0)

    def cost(self) -> int:
        own = len(self.at) - self.terminals
        return sum(
            w
            for (u, v), w in self.weights().items()
            if (self.labels[u] != self.labels[v] if v < own else self.classes[u] == v - own)
        )

    def near(self, bound: int, met: bool | None = None) -> bool:
        gap, unit, one = self.cost() - bound, self.unit, 1 << self._prover.shift
        sizes = [0, *map(abs, self.weights().values())]  # whole ones, or few units: exactly
        exact = (unit % one == 0 and max(sizes) <= one << 53) or sum(sizes) <= unit << 52
        small = 1000 * gap <= self.least() and not (exact and gap >= unit)
        return gap <= 0 or (small if met is None else met)

    def add(self, a: int, b: int, amount: int | None) -> int:
        before, _ = self.at[a].pop(b, 0), self.at[b].pop(a, None)
        if after := 0 if amount is None else before + amount:
            self.at[a][b] = self.at[b][a] = after
        self.negative += min(0, after) - min(0, before)
        return before

    def take(self, rows: list[tuple[int, Any]], sign: int) -> int:
        for u, v, amount in (entry for _, entries in rows for entry in entries):
            self.add(u, v, sign * amount)
        return sum(cost for cost, _ in rows)

    def without(self, slots: list[int], all_of_it: bool = False) -> _Graph:
        number = {self.find(slot): i for i, slot in enumerate(slots)}
        inner = [(u, v) for u in number for v in self.at[u] if u < v and v in number]
        weights = {(number[u], number[v]): self.add(u, v, None) for u, v in inner}
        taken = _Graph([self.labels[slot] for slot in slots], weights, self._prover)
        if all_of_it:  # its nodes, joined or not, but nothing is left out
            taken.numbers, taken.terminals = self.numbers, self.terminals
            own = slots[: len(slots) - self.terminals] if self.terminals else []
            taken.classes = [self.classes[slot] for slot in own]
            taken.may = [{number[t] for t in self.may[slot]} for slot in (slots if own else [])]
        return taken

    def find(self, slot: int) -> int:
        while self._parent[slot] != slot:
            self._parent[slot] = slot = self._parent[self._parent[slot]]
        return slot

    def join(self, slot: int, into: int) -> None:
        a, b = sorted(map(self.find, (slot, into)), key=lambda x: len(self.at[x]))
        self._parent[a] = b
        for y in [*self.at[a]] if a != b else ():
            self.add(b, y, self.add(a, y, None) * (y != b))
        if self.may:
            for t in self.may[a] ^ self.may[b]:  # a class that only one of them can have
                self.add(b, t, None)
            self.may[b] = self.may[a] & self.may[b]

    def step(self, rule: Any, *named: Any) -> None:
        slots = _ids([*named], len(self.at))
        a, b, *others = nodes = [*map(self.find, slots)]
        w, known = self.at[a].get(b, 0), JOINS + LOOSENS if len(slots) == 2 else ("triangle",)
        if rule == "split" and not self.at[b]:  # without edges it is as good as new
            self.labels[slots[1]] = self.labels[slots[0]]
            for y in {*others} - {a}:
                self.add(b, y, self.add(a, y, None))
            return
        _require(rule in known and len({*nodes}) == len(nodes) < 4, f"no {rule!a:.50} of {slots}")
        if rule in LOOSENS:
            weak = rule == "weakened"
            self._prover.pay(len(self.at[a]) * weak / 4)
            less = min(0, w + sum(max(0, x) for x in self.at[a].values())) if weak else w
            self.constant += min(0, less)
            self.add(a, b, -less)
            return
        near = nodes[: 1 if rule == "dominant" else 3]
        self._prover.pay(sum(len(self.at[x]) for x in near) * (8 if rule == "similar" else 1))
        out = [{y: x for y, x in self.at[z].items() if y not in nodes} for z in near]
        rest = [sum(map(abs, at.values())) for at in out]
        both = [(out[0].get(y, 0), out[-1].get(y, 0)) for y in out[0].keys() | out[-1].keys()]
        short = (rest[0] if rule == "dominant" else sum(max(0, x, y) for x, y in both)) - w
        if rule == "similar":  # how much they differ, |t x - (1024 - t) y|, is convex in t
            lines = [(x + y, 1024 * y) for x, y in both]
            rise = lambda t: sum(abs(t * s + s - c) - abs(t * s - c) for s, c in lines)  # noqa: E731
            t = bisect(range(1024), 0, key=rise)
            short = -(-sum(abs(t * s - c) for s, c in lines) // 1024) - w
        if rule == "triangle":
            alone = sum(max(0, x) for at in out for x in at.values())
            inner = [sum(self.at[x].get(y, 0) for y in nodes) for x in nodes]
            asked = [min(r, alone) for r in (*rest, sum(rest) - max(rest))]
            short = max(r - i for r, i in zip(asked, (*inner, sum(inner) // 2), strict=True))
        self.constant -= max(0, short)  # with so much more weight the rule would hold
        for slot in slots[:-1]:
            self.join(slot, slots[-1])
