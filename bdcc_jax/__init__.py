"""Exact correlation clustering (minimum cost multicut) by Benders decomposition."""

import logging

from .environment import show_versions
from .graph import Graph
from .io import FormatError, read, write
from .options import Options, PDLPOptions
from .result import Progress, Result, Round, Status
from .solve import solve

__all__ = [
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
    "write",
]
__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless asked for
