"""Volumes that do not fit into memory: from affinities in zarr to a segmentation, in blocks."""

from .segmentation import VolumeResult, segment_volume

__all__ = ["VolumeResult", "segment_volume"]
