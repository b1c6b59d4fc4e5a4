"""Rows of a proof: inequalities that hold, by their form, for every clustering that counts."""

from itertools import combinations, pairwise, product
from operator import mul
from typing import Any

from .labelled_graph import LabelledGraph
from .reading import ids, require


def row(graph: LabelledGraph, kind: Any, factor: Any, *nodes: Any) -> tuple[int, Any]:
    """What a row times a factor adds to the bound, and to the weights of pairs."""
    y = graph.account.amount(factor)
    if type(kind) is str and kind in _OTHERS:
        b, plus, minus = _OTHERS[kind](graph, [*nodes])
        return -y * b, [(*e, y) for e in plus] + [(*e, -y) for e in minus]
    if kind == "gram":  # vectors v: the sum of v(C)^2 over the clusters C is not negative
        return _gram(graph, y, [*nodes])
    hub, *rim = ids([*nodes], len(graph.at) - graph.terminals)  # classes are on no cycle
    k, b, plus, minus = len(rim), 0, [(rim[-1], hub)], [*pairwise(nodes)]
    if kind == "wheel" and k % 2 == 1 < k:
        b, plus, minus = k // 2, [*pairwise(rim), (rim[-1], rim[0])], [(hub, x) for x in rim]
    elif kind == "cut":  # some ordinary edge that leaves the set of all but rim[0] is kept
        require(bool(graph.connecting), "a cut where clusters need not be connected")
        side = {*nodes} - {rim[0]}
        graph.account.pay(sum(len(graph.connecting[x]) for x in side))
        plus = [(x, z) for x in side for z in graph.connecting[x] if z not in side]
        b, minus = len(plus) - 1, [(hub, rim[0])]
    elif kind != "cycle":  # how many nodes are on the first side of a 2-partition
        (p,), d = ids([kind], k + 1), abs(k + 1 - 2 * kind)
        graph.account.pay(3 * k * k)
        plus = [*combinations(nodes[:p], 2), *combinations(nodes[p:], 2)]
        b, minus = d * (d - 1) // 2, [*product(nodes[:p], nodes[p:])]
    return -y * b, [(*e, y) for e in plus] + [(*e, -y) for e in minus]


def _forest(graph: LabelledGraph, up: list[int]) -> Any:  # a node or itself for every node
    require(graph.numbers is not None, "a forest where any number of clusters will do")
    n, parts = len(graph.at), LabelledGraph(graph.labels, {}, graph.account)
    edges = [(v, u) for v, u in enumerate(ids(up, n, size=n)) if u != v]
    for v, u in edges:
        require(parts.find(v) != parts.find(u), "a forest with a cycle")
        parts.join(v, u)
    return n - len(edges) - (graph.numbers or (1, n))[0], [], edges


def _clique(graph: LabelledGraph, nodes: list[int]) -> Any:
    require(graph.numbers is not None, "a clique where any number of clusters will do")
    p, k = len(ids(nodes, len(graph.at))), (graph.numbers or (1, len(graph.at)))[1]
    graph.account.pay(3 * p * p)
    t, q = divmod(p, k)  # with clusters of equal size the fewest pairs are kept
    kept = q * (t + 1) * t // 2 + (k - q) * t * (t - 1) // 2
    return p * (p - 1) // 2 - kept, [*combinations(nodes, 2)], []


def _gram(graph: LabelledGraph, y: int, vectors: list[Any]) -> tuple[int, Any]:
    n = len(graph.at) - graph.terminals
    graph.account.pay(n * n * (3 + len(vectors)))
    valid = all(type(v) is list and len(v) == n for v in vectors)
    valid = valid and all(type(x) is int and abs(x) < 2**64 for v in vectors for x in v)
    require(valid, f"not {n} whole numbers a vector")
    at = [*zip(*vectors, strict=True)]
    pairs = [(i, j, sum(map(mul, at[i], at[j]))) for i, j in combinations(range(len(at)), 2)]
    return -y * sum(sum(v) ** 2 for v in vectors), [(i, j, 2 * y * z) for i, j, z in pairs if z]


def _one_class(graph: LabelledGraph, nodes: list[int]) -> Any:
    (v,) = _unclassed(graph, nodes)
    graph.account.pay(len(graph.may[v]))
    return 1, [(v, t) for t in graph.may[v]], []


def _any_class(graph: LabelledGraph, nodes: list[int]) -> Any:
    _, plus, _ = _one_class(graph, nodes)
    return -1, [], plus


def _class(graph: LabelledGraph, nodes: list[int]) -> Any:
    # v, u, classes: if v has one of them, not u
    (v, u), some = _unclassed(graph, nodes[:2]), {*ids(nodes[2:], len(graph.at))}
    away = [(u, t) for t in some & graph.may[u]]
    return 0, [(v, t) for t in some & graph.may[v]], [*away, (u, v)]


def _unclassed(graph: LabelledGraph, nodes: list[int]) -> list[int]:
    require(graph.terminals > 0, "classes where there are none")
    return ids(nodes, len(graph.at) - graph.terminals)


_OTHERS = {
    "forest": _forest,
    "clique": _clique,
    "one class": _one_class,
    "any class": _any_class,
    "class": _class,
}
