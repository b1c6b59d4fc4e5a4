"""2-partition inequalities with any number of nodes on either side, by local search.

With ``b_q = 1`` for nodes of T, ``-1`` for nodes of S and 0 for all others, x violates the
inequality of :mod:`~bdcc_jax.separation.two_partitions` by (z = 1 - x; S the smaller side)

    - sum over pairs of b_q b_r z_qr  -  |S|,

which a node q adds ``h_q`` to if it joins T and ``-h_q - 1`` if it joins S, with
``h_q = z(q, S) - z(q, T)``. The best move is made again and again, also where none is a gain, by a
node that has not moved in the last few steps. (Such searches close much of the gap of triangles:
Soerensen, 2020.)
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..lp.rows import Rows
from .two_partitions import LEAST_VIOLATION, deepest, kept

STARTS, FIRST = 300, 4
"""Searches, and how many nodes at most each begins with."""

STEPS, RESTS = 20, 5
"""Moves of a search, and for how many of them a node that has moved stays where it is."""

LARGEST = 10
"""Nodes on both sides: a row has an entry for every pair, and long rows make the LP slow."""


def searched_partitions(ids: IntArray, x: FloatArray, seed: int, most: int) -> Rows:
    """2-partition inequalities that x violates, the deepest first.

    Examples
    --------
    K5 with x = 1/2 between {0, 1} and {2, 3, 4}, and 1 inside: violated by 6/2 - 2.

    >>> x = np.array([1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    >>> ids = np.array([[-1, 0, 1, 2, 3], [0, -1, 4, 5, 6], [1, 4, -1, 7, 8], [2, 5, 7, -1, 9],
    ...                 [3, 6, 8, 9, -1]])
    >>> float(searched_partitions(ids, x, 0, most=10).violation(x).max())
    1.0
    """
    n, rng = len(ids), np.random.default_rng(seed)
    first = rng.integers(n, size=(STARTS, FIRST))
    in_s = rng.random((STARTS, FIRST)) < 0.4
    first[rng.random((STARTS, FIRST)) < 0.25] = -1
    code = rng.integers(2**62, size=(2, n))
    return deepest(ids, *_searches(kept(ids, x), first, in_s, code), len(x), most)


@compiled
def _searches(
    z: FloatArray, first: IntArray, in_s: BoolArray, code: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """The sizes of S, the nodes of S and T, where these begin, and by how much x violates each.

    Those of every search from which no move is a gain, S being the smaller side; each once, by the
    numbers in ``code``.
    """
    n = len(z)
    sizes, nodes, starts = [0 for _ in range(0)], [0 for _ in range(0)], [0]
    amounts = [0.0 for _ in range(0)]
    b, h, until = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
    seen = {0}
    for i in range(len(first)):
        b[:], h[:], until[:] = 0.0, 0.0, 0
        total, size, key, gained = 0.0, 0, 0, False
        for j in range(first.shape[1]):
            q = first[i, j]
            if q < 0 or b[q] != 0.0:
                continue
            b[q] = -1.0 if in_s[i, j] else 1.0
            total += b[q] * h[q] - (b[q] < 0.0)
            h -= b[q] * z[q]
            size += 1
            key += code[int(in_s[i, j]), q]
        for step in range(STEPS):
            best, most, to = -1, -np.inf, 0.0
            for q in range(n):
                if until[q] > step:
                    continue
                join_t, join_s = h[q], -h[q] - 1.0
                if b[q] == 0.0:
                    if size >= LARGEST:
                        continue
                    gain, other = (join_t, 1.0) if join_t > join_s else (join_s, -1.0)
                else:
                    here, there = (join_t, join_s) if b[q] > 0.0 else (join_s, join_t)
                    gain, other = (there - here, -b[q]) if there > 0.0 else (-here, 0.0)
                if gain > most:
                    best, most, to = q, gain, other
            if best < 0:
                break
            good = most <= 0.0 and gained and total > LEAST_VIOLATION
            if good and b.sum() > 0.0 and key not in seen:
                seen.add(key)
                for side in (-1.0, 1.0):
                    for q in range(n):
                        if b[q] == side:
                            nodes.append(q)
                    if side < 0.0:
                        sizes.append(len(nodes) - starts[-1])
                starts.append(len(nodes))
                amounts.append(total)
            gained = most > 0.0
            total += most
            size += int(abs(to)) - int(abs(b[best]))
            if b[best] != 0.0:
                key -= code[int(b[best] < 0.0), best]
            if to != 0.0:
                key += code[int(to < 0.0), best]
            h -= (to - b[best]) * z[best]
            b[best], until[best] = to, step + RESTS
    return (
        np.array(sizes, dtype=np.int64),
        np.array(nodes, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(amounts),
    )
