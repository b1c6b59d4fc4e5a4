"""Exact correlation clustering (minimum cost multicut) by Benders decomposition."""

from .batch import BatchProgress, solve_batch
from .environment import show_versions
from .graph import Graph
from .io import FormatError, read, write
from .options import Options, PDLPOptions
from .result import Failure, Progress, Result, Round, Status
from .solve import solve

__all__ = [
    "BatchProgress",
    "Failure",
    "FormatError",
    "Graph",
    "Options",
    "PDLPOptions",
    "Progress",
    "Result",
    "Round",
    "Status",
    "read",
    "show_versions",
    "solve",
    "solve_batch",
    "write",
]
__version__ = "0.1.0"
