"""Uniform shapes: sizes are rounded up to a small geometric set, so that few kernels compile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bucket(size: int, *, least: int = 8) -> int:
    """The smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least ``size`` and ``least``.

    Examples
    --------
    >>> [bucket(size) for size in (1, 9, 13, 17, 100)]
    [8, 12, 16, 24, 128]
    """
    size = max(size, least, 1)
    power = 1 << (size - 1).bit_length()
    return 3 * power // 4 if power >= 4 and size <= 3 * power // 4 else power


def pad(array: NDArray[Any], size: int, value: float) -> NDArray[Any]:
    """Lengthen the first axis to ``size``, filling up with ``value``.

    Examples
    --------
    >>> pad(np.array([1, 2]), 4, 0).tolist()
    [1, 2, 0, 0]
    """
    widths = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
    return np.pad(array, widths, constant_values=value)
