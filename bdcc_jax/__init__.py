"""Exact correlation clustering (minimum cost multicut) by Benders decomposition."""

from .environment import show_versions
from .graph import Graph
from .io import FormatError, read, write
from .options import Options, PDLPOptions
from .result import Progress, Result, Round, Status
from .solve import solve
from .verify import Rejected, Verdict, verify

__all__ = [
    "FormatError",
    "Graph",
    "Options",
    "PDLPOptions",
    "Progress",
    "Rejected",
    "Result",
    "Round",
    "Status",
    "Verdict",
    "read",
    "show_versions",
    "solve",
    "verify",
    "write",
]
__version__ = "0.1.0"
