"""Well-known problems on graphs: modularity, signed networks, cluster editing, proofreading."""

from .communities import modularity, modularity_communities, modularity_graph
from .lifting import lift
from .networks import cluster_editing_graph, signed_graph, similarity_graph
from .proofreading import split

__all__ = [
    "cluster_editing_graph",
    "lift",
    "modularity",
    "modularity_communities",
    "modularity_graph",
    "signed_graph",
    "similarity_graph",
    "split",
]
