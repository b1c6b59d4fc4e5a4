"""From a picture to a graph of superpixels, and to its segmentation."""

import os
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..solve import solve
from ..weights import not_suspicious
from .evidence import Weighting
from .label_images import label_image, touching_graph
from .marks import as_marks, as_mask, divided, marked
from .pictures import checked_picture, opened, skimage
from .region_graph import renumbered

Method = Literal["slic", "watershed"]

COMPACTNESS = {"slic": 10.0, "watershed": 0.0}

INVISIBLE = 1e-6
"""Colour differences (Lab units) below this, far below what anybody can see, are noise."""

SEGMENTS, PIXELS_A_SEGMENT, PIXELS_OF_MANY = 1000, 16, 240
"""Superpixels that :func:`segment` makes by default: as many as have this many pixels each in large
pictures and volumes, but a thousand in smaller ones, as long as each has 16 pixels."""


def superpixel_graph(
    image: ArrayLike | str | os.PathLike[str],
    n_segments: int = 1000,
    *,
    method: Method = "slic",
    compactness: float | None = None,
    attractive: float = 0.5,
    seeds: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> tuple[Graph, IntArray]:
    """Build the graph whose clusters are a segmentation of a picture or volume.

    The nodes are superpixels, the edges join those that touch. The evidence for a boundary is
    the colour gradient in Lab space, averaged along the shared boundary; a logistic curve turns it
    into a probability ``p``. The weight is ``log((1 - p) / p)``, the log-odds of belonging
    together, times the square root of the boundary's length in pixels: long boundaries are more
    certain, but neighbouring pixels are not independent witnesses.

    Parameters
    ----------
    image : array_like, shape (height, width) or (depth, height, width), or a path
        Grey, or with a last axis of 3 or 4 for RGB or RGBA (laid over white); unsigned integers, or
        floats between 0 and 1. A path is that of a TIFF, whose pages are a volume, PNG, ...
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
    seeds : array_like of int, one a pixel, optional
        What somebody has marked: pixels with the same number, above 0, must be in one region, and
        those with different ones in different regions. 0 says nothing.
    mask : array_like of bool, one a pixel, optional
        Pixels where it is False belong to no region.

    Returns
    -------
    graph : Graph
        One node a superpixel, or a part of it where it has several seeds.
    superpixels : ndarray of int, one a pixel
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
    shape = pixels.shape[:-1]
    if isinstance(n_segments, bool) or not isinstance(n_segments, int | np.integer):
        raise ValueError(f"n_segments must be an integer, not {n_segments!r}")
    if not 1 <= n_segments <= prod(shape):
        raise ValueError(f"n_segments must be from 1 to {prod(shape)} pixels, not {n_segments}")
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
        superpixels = segmentation.slic(
            pixels, n_segments, compactness=compactness, channel_axis=-1
        )
    else:
        sources = _sources(gradient, n_segments)
        superpixels = segmentation.watershed(gradient, sources, compactness=compactness)
    if seeds is not None:
        marks = as_marks(seeds, shape)
        superpixels = divided(superpixels, marks)
    inside = None if mask is None else as_mask(mask, shape)
    if inside is not None:
        superpixels = np.where(inside, superpixels, 0)
    nodes = renumbered(superpixels, None if inside is None else 0)
    graph = touching_graph(nodes, gradient, weighting)
    return (graph if seeds is None else marked(graph, nodes, marks)), nodes


def segment(
    image: ArrayLike | str | os.PathLike[str],
    n_segments: int | None = None,
    *,
    method: Method = "watershed",
    compactness: float | None = None,
    attractive: float = 0.75,
    seeds: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **how: Any,
) -> IntArray:
    """Segment a picture or volume; nobody has to say how many regions there are.

    For cells and nuclei there is :func:`segment_cells`.

    Parameters
    ----------
    image, method, compactness, attractive, seeds, mask
        As for :func:`superpixel_graph`, with defaults that suit photographs.
    n_segments : int, optional
        About how many superpixels to start from. If not given: 1000, more where each would have
        more than 240 pixels, and fewer where it would have less than 16.
    **how
        Passed on to :func:`bdcc_jax.solve`: ``time_limit=10``, ``progress=True``, ...

    Returns
    -------
    ndarray of int
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
    image = opened(image)
    if n_segments is None:
        size = prod(checked_picture(image).shape[:-1])
        many = max(SEGMENTS, size // PIXELS_OF_MANY)
        n_segments = min(many, max(1, size // PIXELS_A_SEGMENT))
    graph, superpixels = superpixel_graph(
        image,
        n_segments,
        method=method,
        compactness=compactness,
        attractive=attractive,
        seeds=seeds,
        mask=mask,
    )
    with not_suspicious():  # a picture of one colour has weights of one sign
        result = solve(graph, **how)
    return label_image(result.labels, superpixels)


def _gradient(pixels: FloatArray) -> FloatArray:
    ski = skimage()
    channels = np.moveaxis(ski.color.rgb2lab(pixels), -1, 0)
    strength: FloatArray = np.sqrt(sum(ski.filters.sobel(channel) ** 2 for channel in channels))
    return np.where(strength < INVISIBLE, 0.0, strength)


def _sources(gradient: FloatArray, number: int) -> IntArray:
    """Spread sources evenly, each at the least gradient nearby: none may sit on an edge."""
    shape = np.array(gradient.shape)
    step = (gradient.size / number) ** (1 / gradient.ndim)
    counts = np.clip(np.rint(shape / step), 1, shape).astype(int)
    rest = number / counts[:-1].prod()  # the last axis makes the number right
    counts[-1] = np.clip(round(rest), 1, shape[-1])
    grid = np.indices(counts).reshape(len(counts), -1, 1)
    reach = np.arange(-int(step / 3), int(step / 3) + 1)
    around = np.array(np.meshgrid(*[reach] * len(counts))).reshape(len(counts), -1)
    around = around[:, np.argsort((around**2).sum(axis=0), kind="stable")]  # the centre first
    size = shape[:, None, None]
    places = (2 * grid + 1) * size // (2 * counts[:, None, None]) + around[:, None, :]
    places = np.clip(places, 0, size - 1)
    best = gradient[tuple(places)].argmin(axis=1)
    here = np.arange(len(best))
    sources = np.zeros(gradient.shape, dtype=np.int64)
    sources[tuple(places[:, here, best])] = here + 1
    return sources
