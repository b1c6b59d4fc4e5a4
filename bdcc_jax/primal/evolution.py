"""A search that goes on and on: clusterings are made by chance, fused, and bred from each other.

Everything is fusion (Beier et al., 2015): what two clusterings agree on becomes one node of a
smaller graph, which is clustered anew, greedily and by annealing. What is fused are

- *proposals*: greedy clusterings of weights with noise and, by turns, what Leiden's method makes of
  single nodes, on dense graphs annealed ones, fused with the best clustering as long as that pays
  well (on dense graphs not before the right temperature is known);
- *chains*: proposals, fused one after another as long as that pays well, and the end of the chain
  with the best; on dense graphs a single one;
- *crossings* of two clusterings that such chains have ended in;
- *annealing* of the best clustering itself, ever longer, at any temperature.

Where some edges are lifted, clusters have to stay connected, which annealing does not see. There
Kernighan-Lin is in its place in fusions, and for the whole clustering *ruins* are: a region of the
best clustering falls apart into single nodes, and is fused with what it was.

The last three take turns by what they have cost so far. The search counts its work, does the same
for the same seed, and can be stopped after any step and go on later.
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.components import connected_components
from ..base.heap import new_heap
from ..base.labels import canonical_labels, first_appearance
from ..instance.graph import Graph
from .annealing import anneal
from .dense_annealing import Matrix, anneal_dense, is_compact, new_matrix
from .greedy_additive import contract
from .kernighan_lin import climb
from .ladder import Ladder
from .leiden import leiden
from .links import Links, agreed, contracted, cost, lifted_links, scale
from .randomness import State, bell, below, new_state, uniform

NOISE = 0.6
"""Proposals add noise to the weights, of a deviation of up to this many mean |w|."""

ITERATIONS = 2
"""Of Leiden's method in a proposal."""

PAYS, DENSE_TRIALS = 1e-3, 5
"""Proposals are fused with the best clustering until one gains less than this share of it; on dense
graphs, where they differ more, until so many in a row do."""

SHORTEST = 3
"""Fusions in a chain, at least."""

ELITE, BARREN = 12, 12
"""So many ends of chains are kept for crossings, the best ones. On sparse graphs all are alike once
so many crossings in a row were not good enough to be kept; then the search begins other chains."""

LINK, CROSSING, LONGEST_CROSSING = 3, 10, 100
"""Annealing within a fusion: steps for every node of the smaller graph. Those of crossings grow,
not on dense graphs, where the clusterings that are fused have been annealed for long already."""

WARM = 0.05
"""The first temperature of annealing within a fusion, in units of mean |w| * sqrt(mean degree)."""

HOTTEST, COLDEST = 0.5, 0.02
"""The same of annealing a whole clustering: anything between, evenly on the scale of logarithms."""

WIDER = 4.0
"""On dense graphs annealing begins at up to so many times more or less than the best temperatures,
once proposals no longer pay: short runs have found these, and always the same ones are stuck."""

COOLER = 4.0
"""On dense graphs annealing of the best clustering begins at up to so many times less than what is
best for annealing from single nodes."""

FIRST, GROWTH = 10, 1.5
"""Annealing of a whole clustering takes so many steps a node at first, and grows by this factor."""

DENSE_FIRST, DENSE_GROWTH = 50, 1.1
"""The same on dense graphs, where proposals are annealed, too."""

QUICKER = 20
"""Steps of annealing on dense graphs in the time of one elsewhere."""

LONGEST_ANNEALING = 200_000_000
"""Arcs that it reads at most, about: a second's work."""

GREEDY_WORK = 12
"""Greedy contraction of an edge takes about as long as reading so many arcs."""


class Evolution:
    """A clustering that gets better the longer one works on it.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : ndarray of int, shape (n,)
        Where to start.
    seed : int
        For everything random.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        The best clustering so far; never changed, only replaced.
    cost : float
        What it costs.
    work : int
        What has been done so far: arcs read, about 150 million a second.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> search = Evolution(graph, np.arange(4), seed=0)
    >>> search.run(1000)
    >>> graph.cut(search.labels).tolist(), search.cost
    ([False, False, False, True], -1.0)
    """

    def __init__(self, graph: Graph, labels: IntArray, *, seed: int) -> None:
        lifted = graph.lifted is not None
        connects = np.empty(0, dtype=bool) if graph.lifted is None else ~graph.lifted
        self._links = lifted_links(graph.n, graph.edges.ravel(), graph.weights, connects)
        compact = is_compact(self._links) and not lifted
        self._matrix = new_matrix(self._links) if compact else None
        self._lifted = lifted
        self._noise = NOISE * float(np.abs(graph.weights).mean()) if graph.m else 0.0
        self._scale = scale(self._links) if graph.m else 0.0
        self._random, self._ladder = new_state(seed), Ladder(graph.n)
        self.labels = graph.refined(labels)[0] if lifted else canonical_labels(labels)
        self.cost = cost(self._links, self.labels)
        self.work = 0
        self.settled = graph.m == 0
        """Whether proposals alone no longer pay well."""
        self.paid = 0
        """Proposals that paid well."""
        self._in_vain = 0  # proposals since then
        self._by_moves = False  # whether the next proposal is Leiden's, not greedy
        self._chain: IntArray | None = None
        self._fusions = 0  # in the chain
        self._crossing = float(CROSSING)
        self._elite: list[tuple[float, IntArray]] = []
        self._barren = 0  # crossings since one was kept
        self._steps = float((FIRST if self._matrix is None else DENSE_FIRST) * graph.n)
        self._spent = [0, 0, 0]  # on chains, crossings and annealing

    def run(self, work: float, stop: BoolArray | None = None) -> None:
        """Go on until so much has been done in all, by now and before, or ``stop[0]`` is set."""
        stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
        while self.work < work and len(self._links.weights) and not stop[0]:
            self.step(stop)

    def step(self, stop: BoolArray) -> None:
        """The smallest amount of work: a fusion, or annealing once. Not for graphs without edges.

        ``stop`` is for other threads to set: then it ends soon, and its random numbers are lost.
        """
        if not self.settled:
            self._fuse_proposal(stop)
            return
        before = self.work
        source = self._spent.index(min(self._spent))
        last = self._ruin if self._lifted else self._anneal
        (self._lengthen_chain, self._cross, last)[source](stop)
        self._spent[source] += self.work - before

    def _fuse_proposal(self, stop: BoolArray) -> None:
        before = self.cost
        if self._matrix is None:
            self.offer(self._fuse(self.labels, self._propose(stop), LINK, stop))
        elif self._ladder.climbed:
            self._end(self._propose(stop), stop)
        else:
            self.offer(self._propose(stop))
            return
        if before - self.cost > PAYS * abs(before):
            self.paid, self._in_vain = self.paid + 1, 0
        else:
            self._in_vain += 1
        self.settled = self._in_vain == (1 if self._matrix is None else DENSE_TRIALS)

    def _lengthen_chain(self, stop: BoolArray) -> None:
        proposal = self._propose(stop)
        if self._matrix is not None:
            self._end(proposal, stop)
            return
        if self._chain is None:
            self._chain, self._fusions = proposal, 0
            return
        before = cost(self._links, self._chain)
        self._chain = self._fuse(self._chain, proposal, LINK, stop)
        self._fusions += 1
        gained = before - cost(self._links, self._chain)
        if self._fusions >= SHORTEST and gained <= PAYS * abs(before):
            self._end(self._chain, stop)
            self._chain = None

    def _cross(self, stop: BoolArray) -> None:
        """Fuse two ends of chains, and what comes out of it with the best clustering."""
        if len(self._elite) < 2:
            self._lengthen_chain(stop)
            return
        first = below(self._random, len(self._elite))
        second = (first + 1 + below(self._random, len(self._elite) - 1)) % len(self._elite)
        parents = self._elite[first][1], self._elite[second][1]
        worst, full = self._elite[-1][0], len(self._elite) == ELITE
        self._end(self._fuse(*parents, int(self._crossing), stop), stop)
        if self._matrix is None:
            self._crossing = min(GROWTH * self._crossing, LONGEST_CROSSING)
            self._barren = self._barren + 1 if full and self._elite[-1][0] == worst else 0
            if self._barren == BARREN:
                self._elite, self._barren = [], 0

    def _anneal(self, stop: BoolArray) -> None:
        """From the best clustering, at a temperature by chance: the hottest ones forget it."""
        labels = self.labels.copy()
        if self._matrix is not None:
            hot = self._draw() * COOLER ** -uniform(self._random)
            self._anneal_dense(self._matrix, labels, hot, stop)
        else:
            hot = COLDEST * (HOTTEST / COLDEST) ** uniform(self._random) * self._scale
            _, arcs = anneal(self._links, labels, int(self._steps), hot, self._random, stop)
            self._lengthen(arcs, GROWTH)
        self._end(labels, stop)

    def _ruin(self, stop: BoolArray) -> None:
        """Cluster a region of the best clustering anew, of any size up to a tenth of the whole."""
        n = len(self.labels)
        most = max(8, n // 10)
        size = int(8 * (most / 8) ** uniform(self._random))
        ruined = _ruined(self._links, self.labels, below(self._random, n), size)
        self.offer(self._fuse(self.labels, ruined, CROSSING, stop))

    def _draw(self) -> float:
        return self._ladder.draw(self._random, wider=WIDER if self.settled else 1.0)

    def _anneal_dense(self, matrix: Matrix, labels: IntArray, hot: float, stop: BoolArray) -> None:
        steps, hot = int(self._steps * self._ladder.longer), hot * self._scale
        _, arcs = anneal_dense(matrix, labels, steps, hot, self._random, stop)
        self._lengthen(arcs, DENSE_GROWTH if self._ladder.climbed else 1.0)

    def _lengthen(self, arcs: int, growth: float) -> None:
        """Count the work of annealing, which is longer the next time."""
        if arcs < LONGEST_ANNEALING:
            self._steps *= growth
        self.work += arcs

    def _end(self, labels: IntArray, stop: BoolArray) -> None:
        """A clustering from elsewhere: for the elite, and to be fused with the best."""
        price = cost(self._links, labels)
        if not stop[0] and all(price != known for known, _ in self._elite):
            self._elite = sorted([*self._elite, (price, labels)], key=lambda e: e[0])[:ELITE]
        self.offer(self._fuse(self.labels, labels, int(self._crossing), stop))

    def _propose(self, stop: BoolArray) -> IntArray:
        if self._matrix is not None:
            labels = np.arange(len(self.labels))
            self._anneal_dense(self._matrix, labels, self._draw(), stop)
            if not self._ladder.climbed:
                self._ladder.tell(cost(self._links, labels))
            return labels
        by_moves, self._by_moves = self._by_moves, not (self._by_moves or self._lifted)
        if by_moves:
            return self._move(np.arange(len(self.labels)), stop)
        self.work += GREEDY_WORK * len(self._links.weights)
        return _proposal(self._links, self._noise, self._random, stop)

    def _move(self, labels: IntArray, stop: BoolArray) -> IntArray:
        for _ in range(ITERATIONS):
            labels, arcs = leiden(self._links, labels, self._random, stop)
            self.work += arcs
        return labels

    def _fuse(self, a: IntArray, b: IntArray, steps: int, stop: BoolArray) -> IntArray:
        labels, arcs = fused(self._links, a, b, steps, self._random, stop)
        self.work += arcs
        return labels

    def offer(self, labels: IntArray) -> None:
        """Take a clustering, of labels by first appearance, for the best if it is better."""
        price = cost(self._links, labels)
        if price < self.cost:
            self.labels, self.cost = labels, price


@compiled
def _proposal(links: Links, noise: float, random: State, stop: BoolArray) -> IntArray:
    """A greedy clustering for weights with noise, of a deviation of up to so much."""
    n, m = len(links.starts) - 1, len(links.weights)
    deviation = noise * uniform(random)
    weights: FloatArray = links.weights.copy()
    for e in range(m):
        weights[e] += deviation * bell(random)
    return contract(n, links.ends.copy(), weights, links.connects, new_heap(m), stop)


@compiled
def _ruined(links: Links, labels: IntArray, start: int, size: int) -> IntArray:
    """The clustering in which so many nodes around one are clusters of their own."""
    n = len(labels)
    ruined, queue = labels.copy(), np.empty(n, dtype=np.int64)
    seen = np.zeros(n, dtype=np.bool_)
    seen[start], queue[0], count, i = True, start, 1, 0
    while i < count and i < size:
        v = queue[i]
        i += 1
        for k in range(links.starts[v], links.starts[v + 1]):
            u = links.neighbours[k]
            if links.arc_connects[k] and not seen[u]:
                seen[u] = True
                queue[count] = u
                count += 1
    for j in range(i):
        ruined[queue[j]] = n + j
    # The rest of a cluster may have fallen apart.
    kept = np.empty(len(links.weights), dtype=np.bool_)
    u, v = links.ends[::2], links.ends[1::2]
    for e in range(len(kept)):
        kept[e] = links.connects[e] and ruined[u[e]] == ruined[v[e]]
    return connected_components(n, u, v, kept)


@compiled
def fused(
    links: Links,
    a: IntArray,
    b: IntArray,
    steps: int,
    random: State,
    stop: BoolArray,
) -> tuple[IntArray, int]:
    """Cluster anew what two clusterings do not agree on; returns also the arcs read.

    All labels are in 0 .. n - 1. The result is as good as the better of the two, or better;
    ``steps`` are those of annealing, for every node of the smaller graph.
    """
    block, count = agreed(links, a, b)
    small = contracted(links, block, count)
    of_a, of_b = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for v in range(len(block)):
        of_a[block[v]], of_b[block[v]] = a[v], b[v]
    heap = new_heap(len(small.weights))
    lifted = len(links.connects) > 0
    anew = contract(count, small.ends.copy(), small.weights.copy(), small.connects, heap, stop)
    best = of_a if cost(small, of_a) <= cost(small, of_b) else of_b
    if cost(small, anew) < cost(small, best):
        best = anew
    work = 4 * len(links.weights) + GREEDY_WORK * len(small.weights)
    if len(small.weights):
        found = first_appearance(best, len(block))
        steps, hot = steps * count, WARM * scale(small)
        if lifted:
            gained, arcs = climb(small, found, stop)
        elif is_compact(small):
            steps *= QUICKER
            gained, arcs = anneal_dense(new_matrix(small), found, steps, hot, random, stop)
        else:
            gained, arcs = anneal(small, found, steps, hot, random, stop)
        work += arcs
        if gained > 0.0:
            best = found
    return best[block], work
