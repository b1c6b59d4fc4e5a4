"""Rules of a proof: how each bounds the optimum of an instance from below."""

from math import inf
from typing import Any

from .labelled_graph import LabelledGraph
from .prices import Sets
from .reading import Account, ids, number, require
from .rows import row
from .steps import step


class Prover:
    """A method a rule proves a lower bound; the keys of a proof are its arguments."""

    def __init__(self, account: Account, believes: bool = False, limits: Any = ()) -> None:
        self._account, self._believes, self.claims = account, believes, list[str]()
        self._limits = limits  # for the outermost rule, if that is the one that knows of them

    def prove(self, graph: LabelledGraph, proof: Any) -> int:
        """A lower bound on what every clustering costs."""
        rule, said = proof["rule"], {key: value for key, value in proof.items() if key != "rule"}
        require(hasattr(self, f"_by_{rule}"), f"this is no certificate: the rule {rule!a:.80}")
        plain = not graph.terminals or rule in ("branching", "constraints", "highs")
        require(plain or (rule == "lp" and "part" not in proof), f"{rule!a:.80} beside classes")
        bound: int = getattr(self, f"_by_{rule}")(graph, **said)
        return -(-bound // graph.unit) * graph.unit  # every clustering costs a multiple of it

    def _by_enumeration(self, graph: LabelledGraph) -> int:
        n, edges = len(graph.at), graph.weights().items()
        self._account.pay(3**n if n <= 8 else inf)
        kept = [sum(w for (u, v), w in edges if s >> u & s >> v & 1) for s in range(1 << n)]
        best = [*kept]  # of every set of nodes: the cluster of its first one, and the rest
        for s in range(1 << n):
            others = rest = s & (s - 1)
            while rest:
                best[s] = max(best[s], kept[s ^ rest] + best[rest])
                rest = (rest - 1) & others
        return kept[-1] - best[-1]

    def _by_lp(self, graph: LabelledGraph, rows: Any, part: Any = None, proofs: Any = None) -> int:
        if part is not None:
            return int(self._divided(graph, rows, part, proofs, "lp")[0])
        read = [row(graph, *said) for said in rows]
        bound = graph.take(read, 1) + graph.negative
        graph.take(read, -1)  # undone: no more work than the rows are long
        return bound

    def _divided(self, graph: LabelledGraph, rows: Any, part: Any, proofs: Any, rule: str) -> Any:
        n, outside = len(graph.at), graph.copy()
        nodes: dict[int, list[int]] = {p: [] for p in [-1, *ids(part, n, size=n, least=-1)]}
        for x, p in enumerate(part):
            nodes[p].append(x)
        local = {x: i for xs in nodes.values() for i, x in enumerate(xs)}
        own: dict[int, list[Any]] = {p: [] for p in nodes}
        for kind, factor, *ends in rows:
            p = part[ends[0]] if len({part[x] for x in ids(ends, n)}) == 1 else -1
            own[p].append([kind, factor, *(local[x] if p >= 0 else x for x in ends)])
        crossing, _ = [row(graph, *said) for said in own.pop(-1)], nodes.pop(-1)
        require(rule == "lp" and proofs.keys() <= {*map(str, nodes)}, "a proof of no part")
        bound, good = outside.take(crossing, 1), []
        for p, xs in nodes.items():
            ways = [{"rule": "lp", "rows": own[p]}, *proofs.get(str(p), [])]
            piece = outside.without(xs)
            bound += (best := max(self.prove(piece, way) for way in ways))
            good.append(piece.near(best))
        graph.met = None if crossing or any(outside.at) else all(good)
        return bound + outside.negative, outside

    def _by_prices(
        self, graph: LabelledGraph, prices: list[Any], heaviest: Any, sets: list[Any]
    ) -> int:
        n = len(graph.at)
        require(len(prices) == n and not graph.connecting, f"not {n} prices of nodes")
        self._account.pay(2 * n * n)
        amount = self._account.amount
        paid = [amount(p) for p in prices]
        worth = [[at.get(v, 0) for v in range(n)] for at in graph.at]
        known = Sets(worth, paid, amount(heaviest), amount, self._account.pay)
        left, most = {*range(n)}, sum(paid)
        for anchor, tree in sets:  # of every set one node comes first
            left.remove(anchor)
            most += max(0, -(-known.above([anchor], {*left}, tree) // 4))
        require(not left, f"sets of nodes {sorted(left)} are missing")
        return sum(graph.weights().values()) - most

    def _by_branching(self, graph: LabelledGraph, nodes: Any) -> int:
        units = 1 + (1 << self._account.shift + 1100) // graph.unit
        price = units * graph.unit  # so unit stays valid
        graph, bounds, paid, todo = graph.copy(), list[int](), 0, [list[Any](), []]
        for node in nodes:
            for u, v, amount, toll in todo.pop():
                graph.add(u, v, amount)
                paid += toll
            if type(node) is list:
                u, v = ids(node, len(graph.at))
                todo[-1].append((u, v, price, -price))  # when both branches are done
                todo += [[(u, v, -2 * price, price)], [(u, v, price, 0)]]
            else:
                bounds.append(paid + self.prove(graph, node))
        require(len(todo) == 1, f"{len(todo) - 1} branches of the tree are missing")
        return min(bounds)

    def _by_presolve(self, graph: LabelledGraph, steps: Any, nodes: Any, proof: Any) -> int:
        left = graph.copy(sum(step[0] == "split" for step in steps))
        for said in steps:
            step(left, *said)
        rest = left.without(ids(nodes, len(left.at)))
        constant, bound = left.constant + left.negative, self.prove(rest, proof)
        met = rest.near(bound, rest.met) and graph.near(rounded := constant + rest.cost())
        graph.met = met and 1000 * (graph.cost() - rounded) <= (rest.least() or inf)
        return constant + bound

    def _by_fixing(self, graph: LabelledGraph, lp: Any, kept: Any, cut: Any, proof: Any) -> int:
        bound, outside = self._divided(graph, **lp)
        kept, cut = ([ids(pair, len(graph.at)) for pair in pairs] for pairs in (kept, cut))
        prices = [s * outside.at[u].get(v, 0) for s, es in ((1, kept), (-1, cut)) for u, v in es]
        otherwise, left, graph.met = bound + max(0, min(prices)), graph.copy(), None
        constant = sum(left.add(u, v, None) for u, v in cut)
        for u, v in kept:
            left.join(u, v)
        possible = all(left.find(u) != left.find(v) for u, v in cut)
        rest = left.without([*dict.fromkeys(map(left.find, range(len(left.at))))])
        return int(min(otherwise, constant + self.prove(rest, proof)) if possible else otherwise)

    def _by_constraints(self, graph: LabelledGraph, apart: Any, proof: Any) -> int:
        (must, cannot, *groups), self._limits, left = self._limits, (), graph.copy()
        for u, v in must:
            left.join(u, v)
        cannot, constant = {(u, v) for u, v in cannot}, 0
        for u, v, amount in apart:
            x, y = sorted(ids([u, v], len(graph.at)))
            group = {g[x] if g[x] == g[y] else -1 for g in groups} - {-1}
            require((x, y) in cannot or bool(group), f"nodes {x} and {y} may be together")
            constant += (taken := self._account.amount(amount))
            require(left.find(x) != left.find(y), f"nodes {x} and {y} must be together")
            left.add(left.find(x), left.find(y), -taken)
        rest = left.without([*dict.fromkeys(map(left.find, range(len(left.at))))], all_of_it=True)
        bound = self.prove(rest, proof)
        graph.met = rest.near(bound, rest.met) or None  # if not, the user's weights decide
        return constant + bound

    def _by_highs(self, graph: LabelledGraph, lower_bound: Any, proof: Any) -> int:
        claimed, bound = number(lower_bound) * (1 << self._account.shift), self.prove(graph, proof)
        self._account.pay(len(graph.at))
        sizes = f"{len(graph.at)} nodes and {sum(map(len, graph.at)) // 2} edges: at least"
        proven = f"(proven: at least {bound / 2**self._account.shift!r})"
        self.claims.append(f"{sizes} {lower_bound!r} {proven}")
        return max(bound, claimed // 1) if self._believes else bound
