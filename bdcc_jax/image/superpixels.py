"""From a picture to a graph of superpixels, and to its segmentation."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..solve import solve
from .evidence import Weighting
from .label_images import label_image, touching_graph
from .marks import as_marks, as_mask, divided, marked
from .pictures import checked_picture, skimage
from .region_graph import renumbered

Method = Literal["slic", "watershed"]

COMPACTNESS = {"slic": 10.0, "watershed": 0.0}

INVISIBLE = 1e-6
"""Colour differences (Lab units) below this, far below what anybody can see, are noise."""

SEGMENTS, PIXELS_A_SEGMENT = 1000, 16
"""Superpixels that :func:`segment` makes by default, and least number of pixels for each."""


def superpixel_graph(
    image: ArrayLike,
    n_segments: int = 1000,
    *,
    method: Method = "slic",
    compactness: float | None = None,
    attractive: float = 0.5,
    seeds: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> tuple[Graph, IntArray]:
    """Build the graph whose clusters are a segmentation of a picture.

    The nodes are superpixels, the edges join those that touch. The evidence for a boundary is
    the colour gradient in Lab space, averaged along the shared boundary; a logistic curve turns it
    into a probability ``p``. The weight is ``log((1 - p) / p)``, the log-odds of belonging
    together, times the square root of the boundary's length in pixels: long boundaries are more
    certain, but neighbouring pixels are not independent witnesses.

    Parameters
    ----------
    image : array_like, shape (height, width), (height, width, 3) or (height, width, 4)
        Grey, RGB or RGBA (laid over white); unsigned integers, or floats between 0 and 1.
    n_segments : int
        About how many superpixels.
    method : {'slic', 'watershed'}
        SLIC clusters pixels by colour and place; a watershed floods the colour gradient from
        evenly spread seeds, so its superpixels end at edges of the picture.
    compactness : float, optional
        The trade between even shapes (large) and the picture (small); 10 for SLIC and 0 for
        watersheds if not given.
    attractive : float in [0, 1]
        Share of the edges that attract; the larger, the coarser the segmentation. Where even more
        edges show no contrast at all, all of these attract.
    seeds : array_like of int, shape (height, width), optional
        What somebody has marked: pixels with the same number, above 0, must be in one region, and
        those with different ones in different regions. 0 says nothing.
    mask : array_like of bool, shape (height, width), optional
        Pixels where it is False belong to no region.

    Returns
    -------
    graph : Graph
        One node a superpixel, or a part of it where it has several seeds.
    superpixels : ndarray of int, shape (height, width)
        The node of every pixel, -1 outside of the mask; :func:`label_image` turns it and the
        clusters into a segmentation.

    Examples
    --------
    >>> image = np.zeros((40, 60, 3))
    >>> image[:, 30:] = 1.0
    >>> graph, superpixels = superpixel_graph(image, n_segments=6)
    >>> superpixels.shape, graph.n == len(np.unique(superpixels))
    ((40, 60), True)
    """
    pixels = checked_picture(image)
    height, width, _ = pixels.shape
    if isinstance(n_segments, bool) or not isinstance(n_segments, int | np.integer):
        raise ValueError(f"n_segments must be an integer, not {n_segments!r}")
    if not 1 <= n_segments <= height * width:
        raise ValueError(f"n_segments must be from 1 to {height * width} pixels, not {n_segments}")
    if method not in COMPACTNESS:
        raise ValueError(f"method must be 'slic' or 'watershed', not {method!r}")
    if compactness is None:
        compactness = COMPACTNESS[method]
    elif method == "slic" and not 0 < compactness < np.inf:
        raise ValueError(f"compactness must be a positive number, not {compactness}")
    elif not 0 <= compactness < np.inf:
        raise ValueError(f"compactness must be a number that is at least 0, not {compactness}")
    weighting = Weighting(None, attractive, 0.5)
    gradient = _gradient(pixels)
    segmentation = skimage().segmentation
    if method == "slic":
        superpixels = segmentation.slic(pixels, n_segments, compactness=compactness)
    else:
        sources = _sources(gradient, n_segments)
        superpixels = segmentation.watershed(gradient, sources, compactness=compactness)
    if seeds is not None:
        marks = as_marks(seeds, (height, width))
        superpixels = divided(superpixels, marks)
    inside = None if mask is None else as_mask(mask, (height, width))
    if inside is not None:
        superpixels = np.where(inside, superpixels, 0)
    nodes = renumbered(superpixels, None if inside is None else 0)
    graph = touching_graph(nodes, gradient, weighting)
    return (graph if seeds is None else marked(graph, nodes, marks)), nodes


def segment(
    image: ArrayLike,
    n_segments: int | None = None,
    *,
    method: Method = "watershed",
    compactness: float | None = None,
    attractive: float = 0.75,
    seeds: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **how: Any,
) -> IntArray:
    """Segment a picture; nobody has to say how many regions there are.

    Parameters
    ----------
    image, method, compactness, attractive, seeds, mask
        As for :func:`superpixel_graph`, with defaults that suit photographs.
    n_segments : int, optional
        About how many superpixels to start from; 1000 if not given, or fewer in a picture that
        has less than 16 pixels for each.
    **how
        Passed on to :func:`bdcc_jax.solve`: ``time_limit=10``, ``progress=True``, ...

    Returns
    -------
    ndarray of int, shape (height, width)
        The region of every pixel: 1, 2, ...; 0 outside of the mask.

    Examples
    --------
    >>> image = np.zeros((40, 60, 3))
    >>> image[:, 30:] = 1.0
    >>> segment(image)[20, [0, 59]].tolist()
    [1, 2]
    >>> seeds = np.zeros((40, 60), dtype=int)
    >>> seeds[5, 10], seeds[35, 10] = 1, 2
    >>> upper, lower = segment(image, seeds=seeds)[[5, 35], 10].tolist()
    >>> upper == lower
    False
    """
    if n_segments is None:
        height, width, _ = checked_picture(image).shape
        n_segments = min(SEGMENTS, max(1, height * width // PIXELS_A_SEGMENT))
    graph, superpixels = superpixel_graph(
        image,
        n_segments,
        method=method,
        compactness=compactness,
        attractive=attractive,
        seeds=seeds,
        mask=mask,
    )
    return label_image(solve(graph, **how).labels, superpixels)


def _gradient(pixels: FloatArray) -> FloatArray:
    ski = skimage()
    channels = np.moveaxis(ski.color.rgb2lab(pixels), 2, 0)
    strength: FloatArray = np.sqrt(sum(ski.filters.sobel(channel) ** 2 for channel in channels))
    return np.where(strength < INVISIBLE, 0.0, strength)


def _sources(gradient: FloatArray, number: int) -> IntArray:
    """Spread sources evenly, each at the least gradient nearby: none may sit on an edge."""
    height, width = gradient.shape
    step = np.sqrt(height * width / number)
    rows = min(height, max(1, round(height / step)))
    columns = min(width, max(1, round(number / rows)))
    y, x = np.indices((rows, columns)).reshape(2, -1, 1)
    reach = np.arange(-int(step / 3), int(step / 3) + 1)
    around = np.array(np.meshgrid(reach, reach)).reshape(2, -1)
    around = around[:, np.argsort((around**2).sum(axis=0), kind="stable")]  # the centre first
    y = np.clip((2 * y + 1) * height // (2 * rows) + around[0], 0, height - 1)
    x = np.clip((2 * x + 1) * width // (2 * columns) + around[1], 0, width - 1)
    best = gradient[y, x].argmin(axis=1)
    here = np.arange(rows * columns)
    sources = np.zeros(gradient.shape, dtype=np.int64)
    sources[y[here, best], x[here, best]] = here + 1
    return sources
