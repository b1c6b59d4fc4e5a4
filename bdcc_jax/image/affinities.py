"""Graphs of pixels or superpixels from affinity maps."""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from .evidence import Weighting, check_probabilities, finite_map
from .region_graph import Offset, Window, checked_offsets, region_graph, renumbered

LongRange = Literal["signed", "repulsive", "lifted"]


def graph_from_affinities(
    affinities: ArrayLike,
    offsets: Sequence[Sequence[int]],
    *,
    labels: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    bias: float = 0.5,
    long_range: LongRange = "signed",
    length_exponent: float = 0.5,
) -> tuple[Graph, IntArray]:
    """Build the graph of pixels, or of superpixels, that affinity maps describe.

    The convention: ``affinities[c][x]`` is the probability that the pixels ``x`` and
    ``x + offsets[c]`` belong TOGETHER (1: same object, 0: different objects). Offsets are in the
    order of the array's axes, (y, x) or (z, y, x), and may be of any length and sign. Pairs
    that leave the picture are ignored. If your maps have 1 for a boundary, pass ``1 - affinities``.

    Parameters
    ----------
    affinities : array_like, shape (C, height, width) or (C, depth, height, width)
        Floats between 0 and 1, or unsigned integers, which are scaled to 0 ... 1.
    offsets : sequence of C sequences of int
        One a channel, such as ``[(-1, 0), (0, -1), (-9, 0), (0, -9)]``.
    labels : array_like of int, optional
        Superpixels, which become the nodes instead of the pixels. The affinities of all pairs of
        pixels between two superpixels are averaged.
    mask : array_like of bool, optional
        Pixels where it is False belong to no node.
    bias : float in (0, 1)
        As in :func:`bdcc_jax.weights_from_probabilities`, where ``p`` is one minus the affinity:
        the larger, the more regions.
    long_range : {'signed', 'repulsive', 'lifted'}
        'signed': all offsets alike; a region may then consist of parts that only a long offset
        joins. 'repulsive': nodes that no offset of length 1 joins can only repel each other, so
        that regions hang together in space. 'lifted': the longer offsets attract and repel, but do
        not connect; they are the lifted edges of the graph, and regions hang together by the
        offsets of length 1.
    length_exponent : float
        The log-odds are multiplied by this power of the number of pairs of pixels; see
        :func:`graph_from_labels`.

    Returns
    -------
    graph : Graph
        The instance.
    nodes : ndarray of int, of the shape of one channel
        The node of every pixel, -1 where masked out, for :func:`label_image`.

    Examples
    --------
    >>> affinities = [[[0.9, 0.9, 0.1, 0.9]]]  # one channel, one row of pixels
    >>> graph, nodes = graph_from_affinities(affinities, [(0, -1)])
    >>> graph.edges.tolist(), graph.weights.round(2).tolist()
    ([[0, 1], [1, 2], [2, 3]], [2.2, -2.2, 2.2])
    """
    weighting = Weighting(bias, None, length_exponent)
    if long_range not in get_args(LongRange):
        raise ValueError(
            f"long_range must be 'signed', 'repulsive' or 'lifted', not {long_range!r}"
        )
    together = finite_map(affinities, "affinities")
    if together.ndim < 3 or together.size == 0:
        raise ValueError(
            "affinities must have shape (channels, height, width) or "
            f"(channels, depth, height, width), not {together.shape}"
        )
    check_probabilities(together, "affinities")
    steps = checked_offsets(offsets, len(together), together.ndim - 1)
    nodes = _nodes(together.shape[1:], labels, mask)

    def cut_probability(channel: int, here: Window, _: Window) -> FloatArray:
        apart: FloatArray = 1.0 - together[channel][here]
        return apart

    if long_range == "lifted":
        return _lifted(nodes, steps, cut_probability, weighting), nodes
    edges, weights = weighted_edges(
        nodes, steps, cut_probability, weighting, repulsive=long_range == "repulsive"
    )
    return Graph(int(nodes.max()) + 1, edges, weights), nodes


def weighted_edges(
    nodes: IntArray,
    steps: Sequence[Offset],
    cut_probability: Callable[[int, Window, Window], FloatArray],
    weighting: Weighting,
    *,
    repulsive: bool,
    split: int | None = None,
) -> tuple[IntArray, FloatArray]:
    """Edges between nodes, and their weights; ``split`` as for :func:`region_graph`.

    With ``repulsive`` only nodes that an offset of length 1 joins may attract each other.
    """
    found = region_graph(nodes, steps, cut_probability, split)
    weights = weighting.weights(found.evidence, found.length)
    if repulsive:
        n = int(nodes.max()) + 1
        units = [offset for offset in steps if sum(map(abs, offset)) == 1]
        near = region_graph(nodes, units, cut_probability, split).edges
        joined = np.isin(found.edges @ [n, 1], near @ [n, 1])
        weights = np.where(joined, weights, np.minimum(weights, 0.0))
    return found.edges, weights


def _lifted(
    nodes: IntArray,
    steps: list[Offset],
    cut_probability: Callable[[int, Window, Window], FloatArray],
    weighting: Weighting,
) -> Graph:
    """Offsets of length 1 are ordinary edges, the others lifted ones, each by its own evidence."""
    unit = [sum(map(abs, offset)) == 1 for offset in steps]
    if not any(unit):
        raise ValueError(
            "long_range='lifted' needs an offset of length 1, such as (0, -1), to connect nodes"
        )
    parts = []
    for wanted in (True, False):
        channels = [i for i, is_unit in enumerate(unit) if is_unit == wanted]
        found = region_graph(
            nodes,
            [steps[i] for i in channels],
            lambda i, here, there, channels=channels: cut_probability(channels[i], here, there),  # type: ignore[misc]
        )
        weights = weighting.weights(found.evidence, found.length)
        parts.append((*found.edges.T, weights))
    (u, v, w), lifted = parts
    return Graph.from_edges(u, v, w, int(nodes.max()) + 1, lifted=lifted)


def _nodes(shape: tuple[int, ...], labels: ArrayLike | None, mask: ArrayLike | None) -> IntArray:
    for name, array in (("labels", labels), ("mask", mask)):
        if array is not None and np.shape(array) != shape:
            raise ValueError(f"{name} must have a channel's shape, {shape}, not {np.shape(array)}")
    inside = np.ones(shape, bool) if mask is None else np.asarray(mask)
    if inside.dtype != bool:
        raise ValueError(f"mask must hold booleans, not {inside.dtype}")
    if not inside.any():
        raise ValueError("mask leaves no pixel")
    pixels = np.arange(inside.size).reshape(shape)
    named = pixels if labels is None else renumbered(labels)
    return renumbered(np.where(inside, named, -1), ignore_label=-1)
