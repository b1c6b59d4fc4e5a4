"""From a picture to a graph of superpixels, and from its clusters back to a picture."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, IntArray
from .graph import Graph

PICTURES = ("astronaut", "camera", "chelsea", "coffee", "coins", "moon", "rocket")
"""What :func:`example_picture` offers; all come inside scikit-image, without any download."""

MAX_LOG_ODDS = float(np.log(999.0))
"""No boundary is surer than a probability of 0.999, or a few pixels would decide everything."""

MIN_SPREAD = 1e-6
"""In Lab units, far below what anybody can see: less is rounding noise, not evidence."""

LINE_COLOUR = (1.0, 0.9, 0.0)


def superpixel_graph(
    image: ArrayLike,
    n_segments: int = 1000,
    *,
    compactness: float = 10.0,
    attractive: float = 0.5,
) -> tuple[Graph, IntArray]:
    """Build the graph whose clusters are a segmentation of a picture.

    The nodes are SLIC superpixels, the edges join those that touch. The evidence for a boundary is
    the colour gradient in Lab space, averaged along the shared boundary; a logistic curve turns it
    into a probability ``p``. The weight is ``log((1 - p) / p)``, the log-odds of belonging
    together, times the square root of the boundary's length in pixels: long boundaries are more
    certain, but neighbouring pixels are not independent witnesses.

    Parameters
    ----------
    image : array_like, shape (height, width) or (height, width, 3)
        Grey or RGB; unsigned integers, or floats between 0 and 1.
    n_segments : int
        About how many superpixels.
    compactness : float
        SLIC's trade between even shapes (large) and colour (small).
    attractive : float in [0, 1]
        Share of the edges that attract; the larger, the coarser the segmentation.

    Returns
    -------
    graph : Graph
        One node a superpixel. Edges without any evidence (a picture of one colour) are absent.
    superpixels : ndarray of int, shape (height, width)
        The node of every pixel, so that ``labels[superpixels]`` is the segmentation.

    Examples
    --------
    >>> image = np.zeros((40, 60, 3))
    >>> image[:, 30:] = 1.0
    >>> graph, superpixels = superpixel_graph(image, n_segments=6)
    >>> superpixels.shape, graph.n == len(np.unique(superpixels))
    ((40, 60), True)
    """
    pixels = _checked_picture(image)
    height, width, _ = pixels.shape
    if isinstance(n_segments, bool) or not isinstance(n_segments, int | np.integer):
        raise ValueError(f"n_segments must be an integer, not {n_segments!r}")
    if not 1 <= n_segments <= height * width:
        raise ValueError(f"n_segments must be from 1 to {height * width} pixels, not {n_segments}")
    if not 0 < compactness < np.inf:
        raise ValueError(f"compactness must be a positive number, not {compactness}")
    if not 0 <= attractive <= 1:
        raise ValueError(f"attractive must lie between 0 and 1, not {attractive}")
    superpixels = _superpixels(pixels, n_segments, compactness)
    edges, evidence, length = _boundaries(superpixels, _gradient(pixels))
    weights = _log_odds(evidence, attractive) * np.sqrt(length)
    return Graph(int(superpixels.max()) + 1, edges, weights), superpixels


def segmentation_picture(image: ArrayLike, segmentation: ArrayLike) -> NDArray[np.uint8]:
    """Show a segmentation: its boundaries over the picture, and beside it the mean colours.

    Parameters
    ----------
    image : array_like, shape (height, width) or (height, width, 3)
        The picture, as for :func:`superpixel_graph`.
    segmentation : array_like of int, shape (height, width)
        The region of every pixel.

    Returns
    -------
    ndarray of uint8, shape (height, 2 * width, 3)
        Both views, left and right.

    Examples
    --------
    >>> segmentation_picture(np.ones((8, 10)), np.zeros((8, 10), dtype=int)).shape
    (8, 20, 3)
    """
    pixels, regions = _checked_picture(image), np.asarray(segmentation)
    if regions.shape != pixels.shape[:2]:
        raise ValueError(f"segmentation must have shape {pixels.shape[:2]}, not {regions.shape}")
    ski = _skimage()
    outlines = ski.segmentation.mark_boundaries(pixels, regions, color=LINE_COLOUR, mode="inner")
    # Label 0 would be taken as background.
    flat = ski.color.label2rgb(regions + 1, pixels, kind="avg")
    both: FloatArray = np.hstack([outlines, flat])
    return np.rint(255 * both).astype(np.uint8)


def example_picture(name: str = "coffee") -> NDArray[np.uint8]:
    """Return one of :data:`PICTURES`.

    Examples
    --------
    >>> example_picture("coffee").shape
    (400, 600, 3)
    """
    if name not in PICTURES:
        raise ValueError(f"picture must be one of {', '.join(PICTURES)}, not {name!r}")
    picture: NDArray[np.uint8] = getattr(_skimage().data, name)()
    return picture


def png(picture: NDArray[np.uint8]) -> bytes:
    r"""Return the content of a PNG file.

    Examples
    --------
    >>> png(np.zeros((2, 3, 3), dtype=np.uint8))[:4]
    b'\x89PNG'
    """
    _skimage()  # for its message: both come with the same extra
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    imsave(buffer, picture, format="png")
    return buffer.getvalue()


def _skimage() -> Any:
    try:
        import skimage
    except ImportError as error:
        raise ImportError('pictures need scikit-image: pip install "bdcc-jax[image]"') from error
    return skimage


def _checked_picture(image: ArrayLike) -> FloatArray:
    """Return the picture as RGB floats between 0 and 1."""
    array = np.asarray(image)
    if array.ndim == 2:
        array = np.repeat(array[..., None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3 or array.size == 0:
        raise ValueError(
            f"image must have shape (height, width) or (height, width, 3), not {np.shape(image)}"
        )
    if array.dtype.kind not in "buf":
        raise ValueError(f"image must hold unsigned integers or floats, not {array.dtype}")
    scale = np.iinfo(array.dtype).max if array.dtype.kind == "u" else 1
    pixels = array.astype(np.float64) / scale
    bad = ~((pixels >= 0) & (pixels <= 1))
    if bad.any():
        raise ValueError(f"image must hold values between 0 and 1: one is {pixels[bad][0]}")
    return pixels


def _superpixels(pixels: FloatArray, n_segments: int, compactness: float) -> IntArray:
    segments = _skimage().segmentation.slic(pixels, n_segments, compactness=compactness)
    return np.unique(segments, return_inverse=True)[1].reshape(segments.shape).astype(np.int64)


def _gradient(pixels: FloatArray) -> FloatArray:
    ski = _skimage()
    channels = np.moveaxis(ski.color.rgb2lab(pixels), 2, 0)
    strength: FloatArray = np.sqrt(sum(ski.filters.sobel(channel) ** 2 for channel in channels))
    return strength


def _boundaries(
    superpixels: IntArray, gradient: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Find the superpixels that touch, the mean gradient between them, and for how many pixels."""
    beside, below = (np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])
    pairs, strengths = [], []
    for one, other in (beside, below):
        apart = superpixels[one] != superpixels[other]
        ends = np.column_stack([superpixels[one][apart], superpixels[other][apart]])
        pairs.append(np.sort(ends, axis=1))
        strengths.append(np.maximum(gradient[one], gradient[other])[apart])
    edges, index, length = np.unique(
        np.concatenate(pairs), axis=0, return_inverse=True, return_counts=True
    )
    total = np.bincount(index, np.concatenate(strengths), minlength=len(edges))
    return edges, total / length, length.astype(np.float64)


def _log_odds(evidence: FloatArray, attractive: float) -> FloatArray:
    """Return ``log((1 - p) / p)`` for a logistic ``p`` that is 1/2 at the given quantile."""
    spread = evidence.std() if evidence.size else 0.0
    if spread < MIN_SPREAD:
        return np.zeros_like(evidence)
    # The logistic curve is the inverse of the log-odds, so p itself never needs to be computed.
    margin = (np.quantile(evidence, attractive) - evidence) / (0.5 * spread)
    return np.clip(margin, -MAX_LOG_ODDS, MAX_LOG_ODDS)
