"""Cells that touch: superpixels of a mask, joined where they look like parts of one convex cell.

A cell is taken to be convex, of about one shade, and not much larger than the others. Within a
convex set the distance to its outside is a concave function: along a straight line it never dips
below the line through its ends. Where it does there is a neck, and so two cells.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from scipy.spatial import KDTree

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..instance.graph import Graph
from ..solve import solve
from ..weights import not_suspicious
from .evidence import MAX_LOG_ODDS, finite_map
from .label_images import label_image
from .marks import as_mask
from .pictures import opened, skimage
from .region_graph import renumbered

TOGETHER, FAR, DIP, SHADE = 5.0, 3.5, 40.0, 1.2
"""The log-odds that two superpixels are of one cell: ``TOGETHER``, less ``FAR`` for every radius
between them, ``DIP`` for every radius by which the distance to the outside dips between them, and
``SHADE`` for every standard deviation (of pixels in superpixels) between their shades. Rounded
from a logistic regression on synthetic cells like those of benchmarks/cells.py."""

REACH = 2.5
"""Superpixels that are further apart than this many radii are not compared."""

SMOOTHING, SPACING = 0.1, 0.12
"""Of the gradient whose basins are the superpixels, and the least between two of these; radii."""

OUTLINES = 0.2
"""How much the outlines of cells, ragged as those of superpixels, are smoothed; radii."""

SAMPLES = 15
"""Points on the line between two superpixels at which the distance to the outside is read."""


def cell_graph(
    image: ArrayLike | str | os.PathLike[str],
    *,
    mask: ArrayLike | None = None,
    radius: float | None = None,
    bias: float = 0.5,
) -> tuple[Graph, IntArray]:
    """Build the graph whose clusters are the cells of a picture or volume, also where they touch.

    The nodes are superpixels of the mask. All that are near each other are compared, not only those
    that touch: by how far apart they are, by their shades, and by whether there is a neck between
    them, where the distance to the background dips below the line through its values at both ends.
    The weight is the log-odds of belonging to one cell, times the geometric mean of both sizes.

    Parameters
    ----------
    image : array_like, shape (height, width) or (depth, height, width), or a path
        One channel, in any unit; voxels as long as they are wide.
    mask : array_like of bool, of the same shape, optional
        Where there are cells. If not given: what is brighter than Otsu's threshold.
    radius : float, optional
        Of a typical cell, in pixels; estimated from the mask if not given, for which a
        disc has a third (a ball a quarter) of its radius as its mean distance to the outside.
    bias : float in (0, 1)
        The larger, the more cells.

    Returns
    -------
    graph : Graph
        One node a superpixel.
    superpixels : ndarray of int, of the shape of the image
        The node of every pixel, -1 outside of the mask, for :func:`label_image`.

    Examples
    --------
    >>> y, x = np.indices((40, 60))
    >>> image = ((y - 20) ** 2 + (x - 20) ** 2 < 150) | ((y - 20) ** 2 + (x - 40) ** 2 < 150)
    >>> graph, superpixels = cell_graph(image.astype(float))
    >>> superpixels.shape, int(superpixels.max()) + 1 == graph.n
    ((40, 60), True)
    """
    values = _one_channel(image)
    if not 0 < bias < 1:
        raise ValueError(f"bias must lie strictly between 0 and 1, not {bias}")
    inside = _bright(values) if mask is None else as_mask(mask, values.shape)
    depth = _depth(inside)
    if radius is None:
        radius = _radius(depth)
    elif not 0 < radius < np.inf:
        raise ValueError(f"radius must be a positive number, not {radius}")
    nodes = _superpixels(values, inside, depth, radius)
    each = np.arange(int(nodes.max()) + 1)
    centres = np.array(ndimage.center_of_mass(inside, nodes, each))
    shades = ndimage.mean(values, nodes, each)
    sizes = np.bincount(nodes[inside]) / radius**values.ndim
    spread = np.median(ndimage.standard_deviation(values, nodes, each))

    pairs = KDTree(centres).query_pairs(REACH * radius, output_type="ndarray")
    clump = ndimage.maximum(ndimage.label(inside)[0], nodes, each)
    pairs = pairs[clump[pairs[:, 0]] == clump[pairs[:, 1]]]  # others are no question
    u, v = pairs.T
    length = np.linalg.norm(centres[u] - centres[v], axis=1)
    odds = TOGETHER - np.log(bias / (1 - bias)) - FAR * length / radius
    odds -= DIP * _dips(depth, centres[u], centres[v]) / radius
    # Without any noise there is no unit to measure shades in; what differs then surely differs.
    steps = np.abs(shades[u] - shades[v])
    odds -= SHADE * np.divide(steps, spread, out=np.where(steps > 0, np.inf, 0), where=spread > 0)
    weights = np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS) * np.sqrt(sizes[u] * sizes[v])
    return Graph(len(each), pairs, weights), nodes


def segment_cells(
    image: ArrayLike | str | os.PathLike[str],
    *,
    mask: ArrayLike | None = None,
    radius: float | None = None,
    bias: float = 0.5,
    **how: Any,
) -> IntArray:
    """Segment cells or nuclei in a picture or volume, also where they touch or overlap.

    Parameters
    ----------
    image, mask, radius, bias
        As for :func:`cell_graph`.
    **how
        Passed on to :func:`bdcc_jax.solve`: ``time_limit=10``, ``progress=True``, ...

    Returns
    -------
    ndarray of int, of the shape of the image
        The cell of every pixel: 1, 2, ...; 0 for the background. Now and then a cell has a part
        that does not touch the rest.

    Examples
    --------
    >>> y, x = np.indices((40, 60))
    >>> image = ((y - 20) ** 2 + (x - 20) ** 2 < 150) | ((y - 20) ** 2 + (x - 40) ** 2 < 150)
    >>> cells = segment_cells(image.astype(float))
    >>> cells[20, [0, 20, 40]].tolist(), int(cells.max())
    ([0, 1, 2], 2)
    """
    graph, superpixels = cell_graph(image, mask=mask, radius=radius, bias=bias)
    with not_suspicious():  # of one cell alone, all weights may be positive and small
        result = solve(graph, **how)
    cells = label_image(result.labels, superpixels)
    return _smoothed(cells, OUTLINES * (_radius(_depth(cells > 0)) if radius is None else radius))


def _one_channel(image: ArrayLike | str | os.PathLike[str]) -> FloatArray:
    values = finite_map(opened(image), "image")
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            "image must have shape (height, width) or (depth, height, width), not "
            f"{values.shape}: give one channel"
        )
    if values.ndim == 3 and values.shape[2] in (3, 4):
        raise ValueError(
            f"image of shape {values.shape} has colours: give the channel that shows the cells, "
            "such as image[..., 0]"
        )
    return values


def _bright(values: FloatArray) -> BoolArray:
    filters = skimage().filters
    smooth = filters.gaussian(values, 1.0)
    inside: BoolArray = smooth > filters.threshold_otsu(smooth)
    if not inside.any():
        raise ValueError("image shows nothing that is brighter than the rest: give a mask")
    return inside


def _depth(inside: BoolArray) -> FloatArray:
    """The distance to the outside, where the picture ends too: what is convex stays convex."""
    depth: FloatArray = ndimage.distance_transform_edt(np.pad(inside, 1))
    return depth[(slice(1, -1),) * inside.ndim]


def _radius(depth: FloatArray) -> float:
    """Of discs (balls) whose mean depth is this: that is a third (a quarter) of the radius."""
    return (depth.ndim + 1) * float(depth[depth > 0].mean())


def _superpixels(
    values: FloatArray, inside: BoolArray, depth: FloatArray, radius: float
) -> IntArray:
    """Basins from the minima of the gradient, that end at edges of the picture and at necks.

    Pieces of the mask without a minimum are one each.
    """
    ski = skimage()
    gradient = ndimage.gaussian_gradient_magnitude(values, SMOOTHING * radius)
    minima = ski.feature.peak_local_max(
        -ndimage.gaussian_filter(gradient, SMOOTHING * radius / 2),
        min_distance=max(1, round(SPACING * radius)),
        labels=inside.astype(np.int8),
        exclude_border=False,
    )
    sources = np.zeros(values.shape, dtype=np.int64)
    sources[tuple(minima.T)] = 1
    # Minima next to each other are one: a plateau, in pictures without noise.
    sources, number = ndimage.label(sources, np.ones((3,) * values.ndim))
    typical = np.median(gradient[inside]) or 1.0
    hills = gradient / typical - depth / radius
    basins = ski.segmentation.watershed(hills, sources, mask=inside)
    rest, _ = ndimage.label(inside & (basins == 0))
    basins = np.where(rest > 0, rest + number, basins)
    return renumbered(basins, ignore_label=0)


def _dips(depth: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """By how much the depth falls at most below the straight line from its value at a to that at b.

    It is 0 for a and b in a convex set that is alone.
    """
    at_a, at_b = (ndimage.map_coordinates(depth, ends.T, order=1) for ends in (a, b))
    worst = np.zeros(len(a))
    for share in np.linspace(0, 1, SAMPLES)[1:-1]:
        between = ((1 - share) * a + share * b).T
        here = ndimage.map_coordinates(depth, between, order=1)
        worst = np.maximum(worst, (1 - share) * at_a + share * at_b - here)
    return worst


def _smoothed(cells: IntArray, sigma: float) -> IntArray:
    """Give every pixel of a cell to the cell that prevails around it."""
    most, winner = np.zeros(cells.shape), cells.copy()
    margin = int(4 * sigma) + 1
    for number, box in enumerate(ndimage.find_objects(cells), start=1):
        window = tuple(slice(max(0, s.start - margin), s.stop + margin) for s in box)
        share = ndimage.gaussian_filter((cells[window] == number).astype(float), sigma)
        more = (share > most[window]) & (cells[window] > 0)
        winner[window][more], most[window][more] = number, share[more]
    # A sliver that has lost all of its pixels leaves no gap in the numbers.
    return renumbered(winner, ignore_label=0) + 1
