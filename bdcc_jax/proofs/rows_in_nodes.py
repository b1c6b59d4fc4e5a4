"""What the rows of the LP say of nodes, by which they are valid: cycles, odd wheels, 2-partitions.

In lifted instances also cuts: around a set of nodes, of which the ordinary edges leave it. What
rows for classes and for numbers of clusters say is in modules of their own.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from ..lp.rows import Rows
from .classes_in_nodes import ClassesInNodes
from .counts_in_nodes import CountsInNodes
from .cuts_in_nodes import CutsInNodes

InNodes = tuple[str | int, float, list[int]]
"""A cycle, a wheel, a cut, or the size of a side of a 2-partition; how often it is in a row; its
nodes."""


def in_nodes(graph: Graph, rows: Rows) -> list[list[InNodes]]:
    """The cycles, wheels, 2-partitions and cuts that each row is the sum of."""
    own_words = _own_words(graph)
    u, v = (ends.tolist() for ends in graph.edges.T)
    indices, values = rows.indices.tolist(), rows.values.tolist()
    said: list[list[InNodes]] = []
    for start, end in pairwise(rows.starts.tolist()):
        ends = [(u[e], v[e]) for e in indices[start:end]]
        row = values[start:end]
        plus = [pair for pair, value in zip(ends, row, strict=True) if value > 0]
        minus = [pair for pair, value in zip(ends, row, strict=True) if value < 0]
        upper = float(rows.upper[len(said)])
        own = (say(indices[start:end], row, upper) for say in own_words)
        if (found := next(filter(None, own), None)) is not None:
            said.append([found])
        elif len(plus) == 1 and set(row) <= {1.0, -1.0}:
            said.append([("cycle", 1.0, a_path(ends[1:], *ends[0]))])
        elif set.intersection(*map(set, plus)):
            said.append([("cycle", amount, path) for path, amount in _benders_cycles(ends, row)])
        elif len(plus) == len(minus) and set.intersection(*map(set, minus)):
            said.append([("wheel", 1.0, _wheel(plus, minus))])
        else:
            size, nodes = _sides(minus)
            said.append([(size, 1.0, nodes)])
    return said


def _own_words(graph: Graph) -> list[Callable[[list[int], list[float], float], InNodes | None]]:
    """What knows rows that hold only for the clusterings that count in this kind of instance.

    Each is given edges, coefficients and right-hand side of a row, and returns None if it is not
    of its kind.
    """
    if isinstance(graph, TerminalGraph):
        return [ClassesInNodes(graph)]
    if graph.constraints:
        return [CountsInNodes(graph)]
    return [] if graph.lifted is None else [CutsInNodes(graph)]


def _wheel(rim: list[tuple[int, int]], spokes: list[tuple[int, int]]) -> list[int]:
    """The hub of an odd wheel, then its rim in order."""
    (hub,) = set.intersection(*map(set, spokes))
    return [hub, *a_path(rim[1:], *rim[0])]


def _sides(between: list[tuple[int, int]]) -> tuple[int, list[int]]:
    """How many nodes the smaller side of a 2-partition has, then the nodes of both sides."""
    at = _adjacency(between)
    others = at[between[0][0]]
    side, others = sorted([at[others[0]], others], key=len)
    return len(side), [*side, *others]


def _adjacency(edges: list[tuple[int, int]]) -> dict[int, list[int]]:
    at: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        at[a].append(b)
        at[b].append(a)
    return at


def a_path(edges: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """The nodes of a shortest path along some edges; empty if there is none."""
    return _path(_adjacency(edges), start, end)


def _path(at: Mapping[int, Iterable[int]], start: int, end: int) -> list[int]:
    """A shortest path, given the nodes next to each; empty if there is none."""
    before = {start: start}
    queue = deque([start])
    while queue and end not in before:
        a = queue.popleft()
        for b in at[a]:
            if b not in before:
                before[b] = a
                queue.append(b)
    if end not in before:
        return []
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def _benders_cycles(
    ends: list[tuple[int, int]], values: list[float]
) -> Iterator[tuple[list[int], float]]:
    """The cycle inequalities that a Benders row is the sum of, and how often each is in it.

    The whole coefficients of the row are a flow from the root, the node that all its negative
    edges share, to their far ends; any maximum flow of that width will do.
    """
    names = sorted({node for pair in ends for node in pair})
    number = {name: i for i, name in enumerate(names)}
    sent = [(*pair, int(value)) for pair, value in zip(ends, values, strict=True) if value > 0]
    (root, *_) = set.intersection(*({a, b} for a, b, _ in sent))
    sink = len(names)
    arcs = [(number[a + b - root], sink, amount) for a, b, amount in sent]
    for (a, b), value in zip(ends, values, strict=True):
        if value < 0:
            arcs.append((number[a], number[b], -int(value)))
            arcs.append((number[b], number[a], -int(value)))
    tails, heads, widths = np.array(arcs).T
    network = sp.coo_array((widths.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network.tocsr(), number[root], sink).flow.tocoo()
    left: dict[int, dict[int, int]] = defaultdict(dict)
    for a, b, amount in zip(*flow.coords, flow.data, strict=True):
        if amount > 0:
            left[int(a)][int(b)] = int(amount)
    while path := _path(left, number[root], sink):
        amount = min(left[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            left[a][b] -= amount
            if left[a][b] == 0:
                del left[a][b]
        yield [names[i] for i in path[:-1]], float(amount)
