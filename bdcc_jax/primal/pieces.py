"""Where some edges are lifted: clusters are split into what the other edges hold together."""

from typing import NamedTuple

import numpy as np

from ..base.adjacency import Adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import borrowing, compiled
from .clusters import Clusters, move, new_label


class Pieces(NamedTuple):
    """The nodes of two clusters piece by piece, and the number of the piece of every node.

    The nodes are ``queue[: queued[0]]``.
    """

    piece: IntArray
    queue: IntArray
    queued: IntArray


@compiled
def new_pieces(n: int) -> Pieces:
    """Room for the pieces of n nodes."""
    return Pieces(
        np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


@borrowing
def find_pieces(
    edges: Adjacency,
    weights: FloatArray,
    connects: BoolArray,
    clusters: Clusters,
    pieces: Pieces,
    a: int,
    b: int,
) -> tuple[float, int]:
    """The pieces of two clusters that edges hold together which connect.

    Returns what it costs to split the clusters into these, and how many edges were read.
    """
    labels, piece, queue = clusters.labels, pieces.piece, pieces.queue
    size, i, number, work = 0, 0, 0, 0
    for c in (a, b):
        v = clusters.first[c]
        while v >= 0:
            piece[v] = -1
            v = clusters.following[v]
    for c in (a, b):
        v = clusters.first[c]
        while v >= 0:
            if piece[v] < 0:
                piece[v] = number
                queue[size] = v
                size += 1
                while i < size:
                    u = queue[i]
                    i += 1
                    for k in range(edges.starts[u], edges.starts[u + 1]):
                        h = edges.neighbours[k]
                        if connects[k] and labels[h] == c and piece[h] < 0:
                            piece[h] = number
                            queue[size] = h
                            size += 1
                number += 1
            v = clusters.following[v]
    twice = 0.0
    for j in range(size):
        u = queue[j]
        work += edges.starts[u + 1] - edges.starts[u]
        for k in range(edges.starts[u], edges.starts[u + 1]):
            h = edges.neighbours[k]
            if labels[h] == labels[u] and piece[h] != piece[u]:
                twice += weights[k]
    pieces.queued[0] = size
    return twice / 2.0, 2 * work


@borrowing
def split(
    clusters: Clusters, pieces: Pieces, changed: IntArray, dirty: BoolArray, now: int
) -> None:
    """Make clusters of the pieces that were found, but for the first one of each cluster.

    The new clusters are dirty, and have changed now.
    """
    labels, piece, queue = clusters.labels, pieces.piece, pieces.queue
    source, target = labels[queue[0]], labels[queue[0]]
    for j in range(1, pieces.queued[0]):
        u, before = queue[j], queue[j - 1]
        if piece[u] != piece[before]:
            if labels[u] != source:  # the first piece of the other cluster
                source = target = labels[u]
            else:
                target = new_label(clusters)
                changed[target] = now
                dirty[target] = True
        if target != source:
            move(clusters, u, source, target)
