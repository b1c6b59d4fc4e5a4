"""Graphs of the regions of a label image, and label images from their clusters."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from .evidence import Weighting, check_probabilities, finite_map
from .region_graph import Window, region_graph, renumbered


def graph_from_labels(
    labels: ArrayLike,
    boundaries: ArrayLike,
    *,
    bias: float | None = None,
    attractive: float | None = None,
    length_exponent: float = 0.5,
    ignore_label: int | None = None,
) -> tuple[Graph, IntArray]:
    """Build the graph of the regions of a label image, weighted by a map of boundaries.

    The nodes are the labels, the edges join regions that touch (along pixel faces: 4 neighbours
    in a picture, 6 in a volume). The evidence for a boundary is the larger value of the map on both
    sides, averaged along the boundary. Its log-odds times ``length ** length_exponent`` is the
    weight.

    Parameters
    ----------
    labels : array_like of int, shape (height, width) or (depth, height, width)
        The region of every pixel, such as from a watershed or SLIC. Any integers.
    boundaries : array_like, of the same shape
        The probability of a boundary at every pixel; unsigned integers are scaled to 0 ... 1.
        With ``attractive`` any finite numbers that are larger where a boundary is more likely.
    bias : float in (0, 1), optional
        As in :func:`bdcc_jax.weights_from_probabilities` (0.5 if not given): the larger, the
        more regions.
    attractive : float in [0, 1], optional
        Instead of ``bias``, for evidence that is no probability: the share of the edges that
        attract. A logistic curve through this quantile makes probabilities of the evidence.
        Where even more edges have the least evidence of all, all of these attract.
    length_exponent : float
        How much surer a longer boundary is: 0 not at all, 1 as if all of its pixels were
        independent witnesses.
    ignore_label : int, optional
        Pixels with this label (such as 0 for the background) belong to no node.

    Returns
    -------
    graph : Graph
        One node a label, in ascending order of the labels.
    nodes : ndarray of int, of the shape of labels
        The node of every pixel, -1 where ignored; :func:`label_image` turns it and the clusters
        into a segmentation.

    Examples
    --------
    >>> labels = [[1, 1, 2, 2, 5, 5]]
    >>> boundaries = [[0.0, 0.1, 0.0, 0.9, 0.2, 0.0]]
    >>> graph, nodes = graph_from_labels(labels, boundaries)
    >>> graph.edges.tolist(), graph.weights.round(2).tolist()
    ([[0, 1], [1, 2]], [2.2, -2.2])
    """
    weighting = Weighting(bias, attractive, length_exponent)
    nodes = renumbered(labels, ignore_label)
    strength = finite_map(boundaries, "boundaries")
    if strength.shape != nodes.shape:
        raise ValueError(
            f"boundaries must have the shape of labels, {nodes.shape}, not {strength.shape}"
        )
    if attractive is None:
        check_probabilities(strength, "boundaries", " (or give attractive instead of bias)")
    return touching_graph(nodes, strength, weighting), nodes


def touching_graph(nodes: IntArray, strength: FloatArray, weighting: Weighting) -> Graph:
    """Join the nodes that touch; the evidence is the larger strength on both sides."""

    def stronger_side(_: int, here: Window, there: Window) -> FloatArray:
        return np.maximum(strength[here], strength[there])

    to_the_next = [tuple(row) for row in np.eye(nodes.ndim, dtype=int).tolist()]
    found = region_graph(nodes, to_the_next, stronger_side)
    weights = weighting.weights(found.evidence, found.length)
    return Graph(int(nodes.max()) + 1, found.edges, weights)


def graph_from_rag(
    rag: Any,
    labels: ArrayLike,
    *,
    bias: float | None = None,
    attractive: float | None = None,
    length_exponent: float = 0.5,
) -> tuple[Graph, IntArray]:
    """Build a graph from a region adjacency graph of scikit-image.

    Parameters
    ----------
    rag : skimage.graph.RAG
        Its edge attribute ``weight`` is the evidence for a boundary: the larger, the likelier;
        ``count``, if there is one, is the length of the boundary. So it may come from
        ``skimage.graph.rag_boundary``, or from ``rag_mean_color`` in its mode 'distance' (not
        'similarity'). Nodes may have been merged.
    labels : array_like of int
        The label image that the RAG was made of.
    bias, attractive, length_exponent
        As for :func:`graph_from_labels`. Weights that are no probabilities, such as distances
        of colours, need ``attractive``.

    Returns
    -------
    graph : Graph
        One node a node of the RAG, in its order.
    nodes : ndarray of int, of the shape of labels
        The node of every pixel, for :func:`label_image`; -1 where a label is not in the RAG.

    Examples
    --------
    >>> import skimage.graph
    >>> labels = np.array([[1, 1, 2, 2, 5, 5]])
    >>> boundaries = np.array([[0.0, 0.1, 0.1, 0.9, 0.9, 0.0]])
    >>> graph, nodes = graph_from_rag(skimage.graph.rag_boundary(labels, boundaries), labels)
    >>> (graph.weights > 0).tolist(), nodes.tolist()
    ([True, False], [[0, 0, 1, 1, 2, 2]])
    """
    weighting = Weighting(bias, attractive, length_exponent)
    if not (hasattr(rag, "nodes") and hasattr(rag, "edges")):
        raise TypeError(f"rag must be a skimage.graph.RAG, not {type(rag).__name__!r}")
    image = np.asarray(labels)
    dense = renumbered(image)
    index = {node: i for i, node in enumerate(rag.nodes)}
    if not index:
        raise ValueError("rag has no nodes")
    node_of = {
        label: index[node]
        for node, merged in rag.nodes(data="labels")
        for label in ([node] if merged is None else merged)
    }
    nodes = np.array([node_of.get(label, -1) for label in np.unique(image).tolist()])[dense]
    rows = [(index[a], index[b], data) for a, b, data in rag.edges(data=True) if a != b]
    for a, b, data in rows:
        if "weight" not in data:
            names = list(rag.nodes)
            raise ValueError(f"edge ({names[a]!r}, {names[b]!r}) of rag has no attribute 'weight'")
    evidence = finite_map([float(data["weight"]) for *_, data in rows], "weights of rag")
    if attractive is None:
        check_probabilities(evidence, "weights of rag", " (or give attractive instead of bias)")
    length = np.array([float(data.get("count", 1)) for *_, data in rows])
    weights = weighting.weights(evidence, length)
    return Graph(len(index), [(a, b) for a, b, _ in rows], weights), nodes


def label_image(clusters: ArrayLike, nodes: ArrayLike) -> IntArray:
    """Paint every pixel with its cluster: a label image as scikit-image has it.

    Parameters
    ----------
    clusters : array_like of int, shape (n,)
        The cluster of every node, as in ``result.labels``.
    nodes : array_like of int
        The node of every pixel, as the functions that build graphs return it; -1 for none.

    Returns
    -------
    ndarray of int, of the shape of nodes
        1, 2, ... for the clusters 0, 1, ..., and 0 for pixels without a node.

    Examples
    --------
    >>> label_image([0, 0, 1], [[0, 1, 2, -1]]).tolist()
    [[1, 1, 2, 0]]
    """
    clusters, nodes = np.asarray(clusters), np.asarray(nodes)
    if clusters.ndim != 1 or clusters.dtype.kind not in "iu":
        raise ValueError(f"clusters must be a list of integers, not {clusters!r}")
    if nodes.dtype.kind not in "iu":
        raise ValueError(f"nodes must hold integers, not {nodes.dtype}")
    if nodes.size and not -1 <= nodes.min() <= nodes.max() < len(clusters):
        bad = nodes.max() if nodes.max() >= len(clusters) else nodes.min()
        raise ValueError(f"nodes must lie between -1 and {len(clusters) - 1}: one is {bad}")
    painted: IntArray = np.append(clusters.astype(np.int64) + 1, 0)[nodes]
    return painted
