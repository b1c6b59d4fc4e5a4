"""Clusterings without a proof: the primal side of the solver."""

from .evolution import Evolution
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin
from .local_search import fusions, local_search, longer_work
from .lp_guided import lp_guided

__all__ = [
    "Evolution",
    "fuse",
    "fusions",
    "greedy_additive",
    "kernighan_lin",
    "local_search",
    "longer_work",
    "lp_guided",
]
