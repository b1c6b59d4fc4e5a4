"""Sets of nodes with a surplus by trying all, where a simple bound leaves few of them.

Two nodes that repel as much as any two do exclude each other: a set with both has no more surplus
than without one of them. So of a class of nodes that exclude each other a set needs one at most:
what it adds is at most what it gains from what is inside, and from the best one of each class
before its own.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..proofs.price_leaf import Classes, SetFork, SetTree


def tried(
    worth: FloatArray,
    exclusive: BoolArray,
    prices: FloatArray,
    inside: IntArray,
    others: BoolArray,
    target: float,
    limit: int,
) -> tuple[SetTree, float, BoolArray] | None:
    """A proof that no set with some nodes has more surplus than a target, if it is short enough.

    Also returns the largest bound of a part, and the last set that has more, if there is one.
    """
    written, most, seen = _tried(worth, exclusive, prices, inside, others, target, limit)
    if len(written) == 0:
        return None
    done: list[SetTree] = []
    for node in written[::-1].tolist():
        if node < 0:
            done.append(Classes())
        else:
            with_it = done.pop()
            done.append(SetFork(node, with_it, done.pop()))
    return done.pop(), most, seen


@compiled
def _tried(
    worth: FloatArray,
    exclusive: BoolArray,
    prices: FloatArray,
    inside: IntArray,
    others: BoolArray,
    target: float,
    limit: int,
) -> tuple[IntArray, float, BoolArray]:
    """The tree in preorder, a node where it is divided and -1 for a leaf; empty if too long."""
    n = len(prices)
    gain, left = np.zeros((n + 1, n)), np.zeros((n + 1, n), np.bool_)
    fixed = np.zeros(n + 1)
    written, count, most = np.empty(limit, np.int64), 0, -np.inf
    classes, sizes = np.empty((n, n), np.int64), np.empty(n, np.int64)
    for v in range(n):
        gain[0, v], left[0, v] = -prices[v], others[v]
    size = 0.0
    for u in inside:
        fixed[0] += gain[0, u]
        for v in range(n):
            gain[0, v] += worth[u, v]
            size += abs(worth[u, v])
            if exclusive[u, v]:
                left[0, v] = False
    for v in range(n):
        size += prices[v]
        for u in range(n):
            size += max(0.0, worth[u, v])
    safe = 8.0 * n * 2.3e-16 * size
    depth, chosen, seen = 0, np.full(n + 1, -1), np.zeros(n, np.bool_)
    while depth >= 0:
        if count == limit:
            return np.empty(0, np.int64), 0.0, seen
        total, number, best, reach = fixed[depth] + safe, 0, -1, 0.0
        for v in range(n):
            if not left[depth, v]:
                continue
            # The first class all of whose nodes exclude this one.
            place = number
            for c in range(number):
                fits = True
                for k in range(sizes[c]):
                    if not exclusive[classes[c, k], v]:
                        fits = False
                        break
                if fits:
                    place = c
                    break
            if place == number:
                sizes[number] = 0
                number += 1
            classes[place, sizes[place]] = v
            sizes[place] += 1
        for c in range(number):
            largest = 0.0
            for k in range(sizes[c]):
                v = classes[c, k]
                adds = gain[depth, v]
                for b in range(c):
                    strongest = 0.0
                    for j in range(sizes[b]):
                        strongest = max(strongest, worth[classes[b, j], v])
                    adds += strongest
                largest = max(largest, adds)
                if best < 0 or adds > reach:
                    best, reach = v, adds
            total += largest
        if total <= target or best < 0:
            most = max(most, total)
            if total > target:  # nothing is left to add to this set
                target = total
                seen[:] = False
                for u in inside:
                    seen[u] = True
                for k in range(depth):
                    if chosen[k] >= 0:
                        seen[chosen[k]] = True
            written[count] = -1
            count += 1
            # Back to where a node is still to be left out.
            depth -= 1
            continue
        written[count] = best
        count += 1
        left[depth, best], chosen[depth] = False, best
        # First with it, then, from the same depth, without it.
        fixed[depth + 1] = fixed[depth] + gain[depth, best]
        for v in range(n):
            gain[depth + 1, v] = gain[depth, v] + worth[best, v]
            left[depth + 1, v] = left[depth, v] and not exclusive[best, v]
        depth += 1
    return written[:count], most, seen
