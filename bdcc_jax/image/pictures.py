"""Pictures to try things on, and pictures of segmentations."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray
from ..base.environment import install_hint
from .evidence import check_probabilities, finite_map

PICTURES = ("astronaut", "camera", "chelsea", "coffee", "coins", "moon", "rocket")
"""What :func:`example_picture` offers; all come inside scikit-image, without any download."""

LINE_COLOUR = (1.0, 0.9, 0.0)


def segmentation_picture(
    image: ArrayLike | str | os.PathLike[str], segmentation: ArrayLike
) -> NDArray[np.uint8]:
    """Show a segmentation: its boundaries over the picture, and beside it the mean colours.

    Parameters
    ----------
    image : array_like, shape (height, width), (height, width, 3) or (height, width, 4), or a path
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
    pixels, regions = checked_picture(image), np.asarray(segmentation)
    if pixels.ndim != 3:
        raise ValueError(f"image must be a picture, not a volume of shape {pixels.shape[:3]}")
    if regions.shape != pixels.shape[:2]:
        raise ValueError(f"segmentation must have shape {pixels.shape[:2]}, not {regions.shape}")
    ski = skimage()
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
    picture: NDArray[np.uint8] = getattr(skimage().data, name)()
    return picture


def png(picture: NDArray[np.uint8]) -> bytes:
    r"""Return the content of a PNG file.

    Examples
    --------
    >>> png(np.zeros((2, 3, 3), dtype=np.uint8))[:4]
    b'\x89PNG'
    """
    skimage()  # for its message: both come with the same extra
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    imsave(buffer, picture, format="png")
    return buffer.getvalue()


def skimage() -> Any:
    """Return scikit-image, or say how to install it."""
    try:
        import skimage as module
    except ImportError as error:
        raise ImportError(f"pictures need scikit-image: {install_hint('image')}") from error
    return module


def opened(image: ArrayLike | str | os.PathLike[str]) -> NDArray[Any]:
    """Return the pixels; of a path those of the file: TIFF (all pages, as a volume), PNG, ..."""
    if not isinstance(image, str | os.PathLike):
        return np.asarray(image)
    path = Path(image)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    reader = skimage().io
    try:
        return np.asarray(reader.imread(path))
    except Exception as error:  # every plug-in of imageio has its own
        raise ValueError(f"{path} cannot be read as a picture or volume: {error}") from error


def checked_picture(image: ArrayLike | str | os.PathLike[str]) -> FloatArray:
    """Return the picture or volume as RGB floats between 0 and 1; the colours are the last axis.

    What is transparent lies on white.
    """
    array = opened(image)
    shape = array.shape
    if array.ndim == 2 or (array.ndim == 3 and shape[2] > 4):  # a volume is wider than that
        array = array[..., None]
    if array.ndim not in (3, 4) or array.shape[-1] not in (1, 3, 4) or array.size == 0:
        raise ValueError(
            "image must have shape (height, width) or (depth, height, width), and (..., 3) or "
            f"(..., 4) if it has colours, not {shape}"
        )
    pixels = finite_map(array, "image")
    check_probabilities(pixels, "image")
    if pixels.shape[-1] == 1:
        return np.repeat(pixels, 3, axis=-1)
    if pixels.shape[-1] == 4:
        opacity = pixels[..., 3:]
        return opacity * pixels[..., :3] + (1 - opacity)
    return pixels
