"""Rows over the edges of the instance alone: chords are eliminated, exactly.

A row is a cycle, ``x_left <= sum of x along the path`` between the ends of its left pair. With the
same multiplier on ``x_c <= P`` and on ``x_f <= x_c + Q``, the chord c cancels, and the sum is
``x_f <= P + Q``: Fourier and Motzkin's step for one pair of rows. Multipliers are split so that
rows with c on the left meet rows with c on their path until one side is used up.

None of this lowers the bound ``sum of min(0, r)``, where c has weight 0:

- what is left with c on the left is dropped: that takes from ``r_c > 0``, and adds to others;
- so is what is left with c on its path: ``r_c < 0`` gains what the left pair loses at most;
- where ``P + Q`` visits a node twice, the loop is left out, which only adds to reduced costs.
"""

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, IntArray
from ...base.compiled import compiled
from ..rows import Rows


def without_chords(
    n: int,
    m: int,
    ends: NDArray[np.int32],
    triangles: NDArray[np.int32],
    multipliers: FloatArray,
) -> tuple[Rows, FloatArray]:
    """Cycle inequalities over the first m pairs, and their multipliers.

    Parameters
    ----------
    n, m : int
        Number of nodes; number of edges of the instance. All later pairs are chords.
    ends : ndarray, shape (pairs, 2)
        The nodes of every pair.
    triangles : ndarray, shape (3, T)
        The pairs of every triangle.
    multipliers : ndarray, shape (3, T)
        Of its rows: ``[i]`` has pair i on the left.

    Examples
    --------
    A square cut into two triangles by the chord 4 is a cycle of four edges again.

    >>> ends = np.array([(0, 1), (0, 3), (1, 2), (2, 3), (0, 2)], np.int32)
    >>> triangles = np.array([(0, 2, 4), (3, 4, 1)], np.int32).T
    >>> multipliers = np.array([(0.0, 0.0, 2.0), (0.0, 0.0, 3.0)]).T
    >>> rows, y = without_chords(4, 4, ends, triangles, multipliers)
    >>> rows.indices.tolist(), rows.values.tolist(), y.tolist()
    ([1, 0, 2, 3], [1.0, -1.0, -1.0, -1.0], [2.0])
    """
    pairs, starts, y = _eliminate(n, m, ends, triangles, multipliers)
    rows = Rows.of_cycles(starts, pairs)
    _, first, same = np.unique(rows.keys(), return_index=True, return_inverse=True)
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[first] = True
    order = np.argsort(first)  # as they come in ``take``
    summed = np.bincount(same, y, len(first)).astype(np.float64)
    return rows.take(chosen), summed[order]


@compiled
def _eliminate(
    n: int,
    m: int,
    ends: NDArray[np.int32],
    triangles: NDArray[np.int32],
    multipliers: FloatArray,
) -> tuple[NDArray[np.int32], IntArray, FloatArray]:
    """The pairs of all rows that are left, their left pair first.

    Row i is ``nodes[begin[i] : begin[i + 1]]``, a cycle, and ``pairs`` in the same slice: one from
    each node to the next, but the first is the left pair, from the last node to the first.
    """
    chords = len(ends) - m
    nodes, pairs = [np.int64(0) for _ in range(0)], [np.int32(0) for _ in range(0)]
    begin, y = [0], [0.0 for _ in range(0)]
    # Linked lists of the rows with a chord on the left (0), and on their path (1).
    head = np.full((2, chords), -1)
    row_of, following = [0 for _ in range(0)], [0 for _ in range(0)]
    for t in range(triangles.shape[1]):
        for i in range(3):
            if multipliers[i, t] > 0.0:
                left, a = triangles[i, t], triangles[(i + 1) % 3, t]
                b = triangles[(i + 2) % 3, t]
                u, v = ends[left, 0], ends[left, 1]
                if ends[a, 0] != u and ends[a, 1] != u:
                    a, b = b, a
                middle = ends[a, 0] + ends[a, 1] - u
                nodes.extend([np.int64(u), np.int64(middle), np.int64(v)])
                pairs.extend([np.int32(left), np.int32(a), np.int32(b)])
                begin.append(len(nodes))
                y.append(multipliers[i, t])
                _list_chords(m, len(y) - 1, pairs, begin, head, row_of, following)
    place = np.full(n, -1)  # of every node in the row that is being made
    for c in range(chords - 1, -1, -1):
        plus, minus = head[0, c], head[1, c]
        while plus >= 0 and minus >= 0:
            over, under = row_of[plus], row_of[minus]
            amount = min(y[over], y[under])
            if amount > 0.0:
                _join(c + m, over, under, nodes, pairs, begin, place)
                if len(nodes) > begin[-1]:
                    begin.append(len(nodes))
                    y.append(amount)
                    _list_chords(m, len(y) - 1, pairs, begin, head, row_of, following)
                y[over] -= amount
                y[under] -= amount
            if y[over] <= 0.0:
                plus = following[plus]
            if y[under] <= 0.0:
                minus = following[minus]
        while plus >= 0:
            y[row_of[plus]], plus = 0.0, following[plus]
        while minus >= 0:
            y[row_of[minus]], minus = 0.0, following[minus]
    size, count = 0, 0
    for i in range(len(y)):
        if y[i] > 0.0:
            size, count = size + begin[i + 1] - begin[i], count + 1
    kept, starts, kept_y = np.empty(size, np.int32), np.zeros(count + 1, np.int64), np.empty(count)
    size, count = 0, 0
    for i in range(len(y)):
        if y[i] > 0.0:
            for k in range(begin[i], begin[i + 1]):
                kept[size] = pairs[k]
                size += 1
            kept_y[count] = y[i]
            count += 1
            starts[count] = size
    return kept, starts, kept_y


@compiled
def _list_chords(
    m: int,
    row: int,
    pairs: list[np.int32],
    begin: list[int],
    head: IntArray,
    row_of: list[int],
    following: list[int],
) -> None:
    """Enter the last row into the lists of its chords."""
    for k in range(begin[row], begin[row + 1]):
        c = pairs[k] - m
        if c >= 0:
            side = 0 if k == begin[row] else 1
            row_of.append(row)
            following.append(head[side, c])
            head[side, c] = len(row_of) - 1


@compiled
def _join(
    chord: int,
    over: int,
    under: int,
    nodes: list[np.int64],
    pairs: list[np.int32],
    begin: list[int],
    place: IntArray,
) -> None:
    """Append ``under`` with its chord replaced by the path of ``over``; nothing if it is trivial.

    A node that comes again ends a loop, which is taken out.
    """
    start = len(nodes)
    nodes.append(nodes[begin[under]])
    pairs.append(pairs[begin[under]])
    place[nodes[start]] = start
    first, last = begin[under], begin[under + 1]
    for k in range(first + 1, last):
        # The pair from node k - 1 to node k of the cycle is entered with node k.
        if pairs[k] != chord:
            _walk(nodes[k], pairs[k], start, nodes, pairs, place)
            continue
        a, b = begin[over], begin[over + 1]
        if nodes[a] == nodes[k - 1]:
            for j in range(a + 1, b):
                _walk(nodes[j], pairs[j], start, nodes, pairs, place)
        else:
            for j in range(b - 1, a, -1):
                _walk(nodes[j - 1], pairs[j], start, nodes, pairs, place)
    trivial = len(nodes) == start + 2
    for k in range(start, len(nodes)):
        place[nodes[k]] = -1
    if trivial:
        for _ in range(2):
            nodes.pop()
            pairs.pop()


@compiled
def _walk(
    node: np.int64,
    pair: np.int32,
    start: int,
    nodes: list[np.int64],
    pairs: list[np.int32],
    place: IntArray,
) -> None:
    """Go on to a node; if the path has been there, back to where it was."""
    if place[node] >= start:
        while len(nodes) > place[node] + 1:
            place[nodes.pop()] = -1
            pairs.pop()
        return
    place[node] = len(nodes)
    nodes.append(np.int64(node))
    pairs.append(np.int32(pair))
