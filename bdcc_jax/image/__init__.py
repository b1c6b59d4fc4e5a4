"""From pictures, label images and affinity maps to graphs, and from clusters to segmentations."""

from .affinities import graph_from_affinities
from .cells import cell_graph, segment_cells
from .evidence import MAX_LOG_ODDS
from .label_images import graph_from_labels, graph_from_rag, label_image
from .pictures import PICTURES, example_picture, png, segmentation_picture
from .superpixels import segment, superpixel_graph
from .supervoxels import supervoxels

__all__ = [
    "MAX_LOG_ODDS",
    "PICTURES",
    "cell_graph",
    "example_picture",
    "graph_from_affinities",
    "graph_from_labels",
    "graph_from_rag",
    "label_image",
    "png",
    "segment",
    "segment_cells",
    "segmentation_picture",
    "superpixel_graph",
    "supervoxels",
]
