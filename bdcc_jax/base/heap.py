"""A binary max-heap whose items can change their priority, on arrays that compiled code shares."""

from typing import NamedTuple

import numpy as np

from .arrays import FloatArray, IntArray
from .compiled import borrowing, compiled


class Heap(NamedTuple):
    """Items ``0 .. capacity - 1``, the largest priority first, the smallest item among equals.

    ``items[: size[0]]`` is the heap and ``priorities`` are theirs in the same order, which is what
    makes comparisons fast; ``place[i]`` is where item i lies, -1 if it does not.
    """

    priorities: FloatArray
    items: IntArray
    place: IntArray
    size: IntArray


@compiled
def new_heap(capacity: int) -> Heap:
    """An empty heap for the items ``0 .. capacity - 1``."""
    return Heap(
        np.zeros(capacity),
        np.zeros(capacity, dtype=np.int64),
        np.full(capacity, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@borrowing
def put(heap: Heap, item: int, priority: float) -> None:
    """Insert an item, or change its priority."""
    place = heap.place[item]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
    _settle(heap, place, item, priority)


@borrowing
def pop(heap: Heap) -> int:
    """Remove and return the first item; the heap must not be empty."""
    first = int(heap.items[0])
    remove(heap, first)
    return first


@borrowing
def remove(heap: Heap, item: int) -> None:
    """Remove an item if it is there."""
    place = heap.place[item]
    if place < 0:
        return
    heap.place[item] = -1
    heap.size[0] -= 1
    last = heap.size[0]
    if place != last:
        _settle(heap, place, heap.items[last], heap.priorities[last])


@borrowing
def clear(heap: Heap) -> None:
    """Remove all items, in time proportional to their number."""
    for i in range(heap.size[0]):
        heap.place[heap.items[i]] = -1
    heap.size[0] = 0


@borrowing
def _settle(heap: Heap, place: int, item: int, priority: float) -> None:
    """Let an item float up or sink down from a place that is free, to where it belongs."""
    priorities, items = heap.priorities, heap.items
    while place > 0:
        parent = (place - 1) >> 1
        if not _before(priority, item, priorities[parent], items[parent]):
            break
        _move(heap, parent, place)
        place = parent
    size = heap.size[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _before(
            priorities[right], items[right], priorities[child], items[child]
        ):
            child = right
        if not _before(priorities[child], items[child], priority, item):
            break
        _move(heap, child, place)
        place = child
    items[place] = item
    priorities[place] = priority
    heap.place[item] = place


@borrowing
def _move(heap: Heap, source: int, target: int) -> None:
    item = heap.items[source]
    heap.items[target] = item
    heap.priorities[target] = heap.priorities[source]
    heap.place[item] = target


@borrowing
def _before(p: float, i: int, q: float, j: int) -> bool:
    return p > q or (p == q and i < j)
