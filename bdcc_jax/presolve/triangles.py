r"""Triangles whose three nodes are together in some optimum.

Let ``a, b, c`` be a triangle, ``R_a`` the sum of ``|w|`` over the other edges at ``a``, and ``Q``
the positive weight between the triangle and the rest. If ``a`` is apart from ``b`` and ``c``, which
are together, then either move of these joins all three:

- ``a`` to the cluster of ``b`` and ``c``, which costs at most ``R_a - w_ab - w_ac``;
- all three to a cluster of their own, which costs at most ``Q - w_ab - w_ac``.

If all three are apart, two of them may move to the third, or all to a cluster of their own. So an
optimum joins them if ::

    w_ab + w_ac         >=  min(R_a, Q)                              and so at b and at c,
    w_ab + w_ac + w_bc  >=  min(R_a + R_b, R_a + R_c, R_b + R_c, Q).

This is the triangle criterion of Lange, Andres and Swoboda (CVPR 2019) for single nodes, with a
cluster of its own as a further choice. Contracting one triangle lowers the right-hand sides of
others that share no node with it, because ``|w + w'| <= |w| + |w'|``. Where sums are rounded, the
criterion has to hold by more than their rounding error.
"""

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import borrowing, compiled, inlined
from ..base.sums import exact_unit
from .multigraph import ROUNDING, UNROUNDED


@compiled
def joined_triangles(n: int, u: IntArray, v: IntArray, w: FloatArray, stop: BoolArray) -> IntArray:
    """Disjoint triangles to contract, one a row, of a graph without parallel edges.

    Another thread may set ``stop``: then the search ends with what it has found.

    Examples
    --------
    >>> u, v = np.array([0, 0, 1, 0, 1, 2]), np.array([1, 2, 2, 3, 3, 3])
    >>> w = np.array([3.0, 3.0, 3.0, -4.0, -4.0, -4.0])
    >>> joined_triangles(4, u, v, w, np.zeros(1, dtype=bool)).tolist()
    [[0, 1, 2]]
    """
    total, positive, off = np.zeros(n), np.zeros(n), np.zeros(n)
    for e in range(len(w)):
        for x in (u[e], v[e]):
            total[x] += abs(w[e])
            positive[x] += max(w[e], 0.0)
            off[x] += 1.0
    rounding = 0.0 if exact_unit(w, UNROUNDED) > 0.0 else ROUNDING
    off = rounding * (off + 8.0) * total
    return _disjoint(adjacency(n, u, v, np.arange(len(w))), w, total, positive, off, stop)


@inlined
def _disjoint(
    edges: Adjacency,
    w: FloatArray,
    total: FloatArray,
    positive: FloatArray,
    off: FloatArray,
    stop: BoolArray,
) -> IntArray:
    starts, heads, ids = edges
    n = len(starts) - 1
    at = np.full(n, -1)  # the edge to each neighbour of a
    taken = np.zeros(n, np.bool_)
    found = [np.int64(0) for _ in range(0)]
    for a in range(n):
        if stop[0]:
            break
        for k in range(starts[a], starts[a + 1]):
            at[heads[k]] = ids[k]
        for k in range(starts[a], starts[a + 1]):
            b = heads[k]
            if b < a or taken[a] or taken[b]:
                continue
            for j in range(starts[b], starts[b + 1]):
                c = heads[j]
                if c < b or at[c] < 0 or taken[a] or taken[b] or taken[c]:
                    continue
                if _together(w[ids[k]], w[at[c]], w[ids[j]], a, b, c, total, positive, off):
                    taken[a] = taken[b] = taken[c] = True
                    found.extend([np.int64(a), np.int64(b), np.int64(c)])
        for k in range(starts[a], starts[a + 1]):
            at[heads[k]] = -1
    return np.array(found, dtype=np.int64).reshape(-1, 3)


@borrowing
def _together(
    ab: float,
    ac: float,
    bc: float,
    a: int,
    b: int,
    c: int,
    total: FloatArray,
    positive: FloatArray,
    off: FloatArray,
) -> bool:
    """Whether the criterion holds for the triangle a, b, c, though sums may be ``off``."""
    rest_a = total[a] - abs(ab) - abs(ac)
    rest_b = total[b] - abs(ab) - abs(bc)
    rest_c = total[c] - abs(ac) - abs(bc)
    inside = max(0.0, ab) + max(0.0, ac) + max(0.0, bc)
    alone = positive[a] + positive[b] + positive[c] - 2.0 * inside
    apart = min(min(rest_a + rest_b, rest_a + rest_c), min(rest_b + rest_c, alone))
    error = off[a] + off[b] + off[c]
    two_by_one: bool = (
        ab + ac >= min(rest_a, alone) + error
        and ab + bc >= min(rest_b, alone) + error
        and ac + bc >= min(rest_c, alone) + error
    )
    return two_by_one and ab + ac + bc >= apart + error
