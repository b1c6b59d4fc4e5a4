"""Steps of presolve, and what each may cost at most if the rule that it names does not hold."""

from bisect import bisect
from typing import Any

from .labelled_graph import LabelledGraph
from .reading import ids, require

JOINS, LOOSENS = ("dominant", "similar", "secluded"), ("attracted", "separated", "weakened")


def step(graph: LabelledGraph, rule: Any, *named: Any) -> None:
    """Take one step; what it is short of its rule is taken off the constant."""
    slots = ids([*named], len(graph.at))
    a, b, *others = nodes = [*map(graph.find, slots)]
    w, known = graph.at[a].get(b, 0), JOINS + LOOSENS if len(slots) == 2 else ("triangle",)
    if rule == "split" and not graph.at[b]:  # without edges it is as good as new
        graph.labels[slots[1]] = graph.labels[slots[0]]
        for y in {*others} - {a}:
            graph.add(b, y, graph.add(a, y, None))
        return
    require(rule in known and len({*nodes}) == len(nodes) < 4, f"no {rule!a:.50} of {slots}")
    if rule in LOOSENS:
        weak = rule == "weakened"
        graph.account.pay(len(graph.at[a]) * weak / 4)
        less = min(0, w + sum(max(0, x) for x in graph.at[a].values())) if weak else w
        graph.constant += min(0, less)
        graph.add(a, b, -less)
        return
    near = nodes[: 1 if rule == "dominant" else 3]
    graph.account.pay(sum(len(graph.at[x]) for x in near) * (8 if rule == "similar" else 1))
    out = [{y: x for y, x in graph.at[z].items() if y not in nodes} for z in near]
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
        inner = [sum(graph.at[x].get(y, 0) for y in nodes) for x in nodes]
        asked = [min(r, alone) for r in (*rest, sum(rest) - max(rest))]
        short = max(r - i for r, i in zip(asked, (*inner, sum(inner) // 2), strict=True))
    graph.constant -= max(0, short)  # with so much more weight the rule would hold
    for slot in slots[:-1]:
        graph.join(slot, slots[-1])
