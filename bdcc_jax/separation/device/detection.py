"""Exact detection on a device: batched Bellman-Ford between the places of x, in pure JAX.

Nodes that a path of length zero joins are one place: only edges with 0 < x < 1 between different
places are left to search, and a violated edge of E- whose ends share a place needs no search. The
arcs of a place are cut into rows of ARCS, joined by links of length 0 in a binary tree: whatever
the degrees, a sweep is a gather from a table [rows, 3 + ARCS], and a hub costs a few more sweeps.

All lengths are float64 and added in the order of the path, root first, as Dijkstra's algorithm adds
them: the distances, and so the verdicts, are the same to the last bit.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...base.components import connected_components
from ...instance.cover import Cover
from ...instance.graph import Graph
from ..paper.ball import VIOLATION
from ..violations import places, violated_edges
from .limits import ENTRIES, is_out_of_memory, kind_of

ARCS = 5
"""Arcs of a row; three more slots link it to its parent and its children."""

COLUMNS = {"cpu": 32, "gpu": 512}
"""Roots that are searched at a time."""

TARGETS_PER_COLUMN = 8

LEAST_ROWS, SIZES = 256, 4
"""Tables have as many rows as the largest that an instance may need, a fourth of that, ..., in so
many sizes, and at least LEAST_ROWS."""

BYTES_PER_ENTRY = 32
"""Device memory for a row of a column: distances, old, new and in flight."""


class Detector:
    """Finds the violated edges of E- at a given x.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    device : jax.Device
        Where to search.
    memory : int
        Bytes that a call may take on the device.

    Examples
    --------
    >>> from bdcc_jax.instance.cover import vertex_cover
    >>> triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    >>> cover = vertex_cover(triangle, "greedy")
    >>> detector = Detector(triangle, cover, jax.devices("cpu")[0], 2**20)
    >>> detector.violated(np.array([0.0, 1.0, 0.3]), Clock(None)).tolist()
    [True]
    """

    def __init__(self, graph: Graph, cover: Cover, device: jax.Device, memory: int) -> None:
        self._graph, self._cover, self._device = graph, cover, device
        self._root = np.repeat(cover.roots, np.diff(cover.starts))
        self._kind = kind_of(device)
        most = graph.n + 2 * int(np.count_nonzero(graph.positive)) // ARCS
        self._largest = LEAST_ROWS
        while self._largest < most:
            self._largest *= 4
        self._columns = COLUMNS[self._kind]
        while self._columns > 8 and BYTES_PER_ENTRY * self._largest * self._columns > memory:
            self._columns //= 2

    def violated(self, x: FloatArray, clock: Clock) -> BoolArray:
        """Which edges of ``cover.edges`` have a cycle inequality violated by > VIOLATION."""
        graph, cover = self._graph, self._cover
        place, open_edges, ends = places(graph, x)
        here, there = place[self._root], place[cover.far_ends]
        count, kept = int(place.max(initial=-1)) + 1, np.ones(len(open_edges), bool)
        region = connected_components(count, ends[0], ends[1], kept)
        candidate = x[cover.edges] > VIOLATION
        violated: BoolArray = candidate & (here == there)
        searched = np.flatnonzero(candidate & ~violated & (region[here] == region[there]))
        if len(searched) > 0:
            first, table, along = self._table(count, ends.T, x[open_edges])
            reach = x[cover.edges[searched]] - VIOLATION
            rows = first[here[searched]], first[there[searched]]
            try:
                violated[searched] = self._search(*rows, reach, table, along, clock)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                return violated_edges(graph, cover, x, clock)  # the same, on the host
        return violated

    def _table(
        self, count: int, ends: IntArray, lengths: FloatArray
    ) -> tuple[IntArray, NDArray[np.int32], FloatArray]:
        """The first row of every place, and where the slots of all rows lead, and how far."""
        tail, head = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.argsort(tail, kind="stable")
        tail, head, along = tail[order], head[order], np.concatenate([lengths, lengths])[order]
        degree = np.bincount(tail, minlength=count)
        rows = -(-degree // ARCS)
        first: IntArray = np.cumsum(rows) - rows
        size = self._largest
        for _ in range(SIZES - 1):
            size = size // 4 if size // 4 >= max(LEAST_ROWS, rows.sum()) else size
        table, distance = np.zeros((size, 3 + ARCS), np.int32), np.full((size, 3 + ARCS), np.inf)
        rank = np.arange(len(tail)) - (np.cumsum(degree) - degree)[tail]
        row, slot = first[tail] + rank // ARCS, 3 + rank % ARCS
        table[row, slot], distance[row, slot] = first[head], along
        number = np.arange(rows.sum()) - np.repeat(first, rows)
        child = np.flatnonzero(number > 0)
        parent = child - number[child] + (number[child] - 1) // 2
        side = 2 - number[child] % 2
        table[child, 0], distance[child, 0] = parent, 0.0
        table[parent, side], distance[parent, side] = child, 0.0
        return first, table, distance

    def _search(
        self,
        roots: IntArray,
        far: IntArray,
        reach: FloatArray,
        table: NDArray[np.int32],
        along: FloatArray,
        clock: Clock,
    ) -> BoolArray:
        """Which of the far rows are nearer to their root rows than their reach."""
        order = np.argsort(roots, kind="stable")
        column = np.cumsum(np.diff(roots[order], prepend=-1) > 0) - 1
        size = TARGETS_PER_COLUMN * self._columns
        violated = np.zeros(len(roots), bool)
        at_once = np.int32(max(1, ENTRIES[self._kind] // (along.size * self._columns)))
        with jax.enable_x64(True), jax.default_device(self._device):
            table, along = jax.device_put((table, along), self._device)
            begin = 0
            while begin < len(order):
                end = min(begin + size, int(np.searchsorted(column, column[begin] + self._columns)))
                some = order[begin:end]
                at = np.zeros((3, size), np.int32)
                at[0, : len(some)] = roots[some]
                at[1, : len(some)] = far[some]
                at[2, : len(some)] = column[begin:end] - column[begin]
                near = np.full((len(table), self._columns), np.inf)
                near[at[0, : len(some)], at[2, : len(some)]] = 0.0
                limits = np.zeros(self._columns)
                np.maximum.at(limits, at[2, : len(some)], reach[some])
                needed = np.full(size, -np.inf)
                needed[: len(some)] = reach[some]
                more = True
                while more:
                    clock.check()
                    with clock.device_call():
                        near, changed, nearer = sweep(
                            table, along, limits, near, at[1], at[2], needed, at_once
                        )
                        more = bool(changed)
                violated[some] = np.asarray(nearer)[: len(some)]
                begin = end
        return violated


@partial(jax.jit, donate_argnames="near")
def sweep(
    table: Array,
    along: Array,
    limits: Array,
    near: Array,
    far: Array,
    column: Array,
    reach: Array,
    most: Array,
) -> tuple[Array, Array, Array]:
    """Sweeps of Bellman-Ford, so many at most.

    Returns the distances [row, column], whether the last sweep changed any, and which targets are
    nearer than their reach.
    """

    def once(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        old, _, count = state
        new = old
        for k in range(table.shape[1]):
            new = jnp.minimum(new, old[table[:, k]] + along[:, k, None])
        new = jnp.where(new < limits, new, old)
        return new, jnp.any(new < old), count + 1

    near, changed, _ = lax.while_loop(
        lambda state: state[1] & (state[2] < most), once, (near, jnp.array(True), jnp.int32(0))
    )
    return near, changed, near[far, column] < reach
