"""Clusterings without a proof: the primal side of the solver."""

from .evolution import Evolution
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin
from .local_search import first_turn, fusions, is_clustered_poorly, local_search, moved
from .lp_guided import lp_guided

__all__ = [
    "Evolution",
    "first_turn",
    "fuse",
    "fusions",
    "greedy_additive",
    "is_clustered_poorly",
    "kernighan_lin",
    "local_search",
    "lp_guided",
    "moved",
]
