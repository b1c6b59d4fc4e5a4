"""Tables of scored pairs of records, as record linkage makes them, to tables of clusters."""

from .clusters import Clusters, cluster

__all__ = ["Clusters", "cluster"]
