"""Exact correlation clustering (minimum cost multicut) by Benders decomposition."""

import logging
from typing import TYPE_CHECKING, Any

from .base.environment import show_versions
from .batch import BatchProgress, solve_batch
from .instance.graph import Graph
from .io import FormatError, read, write
from .options import Options, PDLPOptions
from .proofs.verify import Rejected, Verdict, verify
from .result import Failure, Progress, Result, Round, Status
from .solve import solve
from .weights import weights_from_probabilities

if TYPE_CHECKING:
    from .estimator import CorrelationClustering as CorrelationClustering

__all__ = [
    "BatchProgress",
    "Failure",
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
    "solve_batch",
    "verify",
    "weights_from_probabilities",
    "write",
]
__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless asked for


def __getattr__(name: str) -> Any:
    """Import the estimator at its first use, so that scikit-learn is needed only by its users."""
    if name == "CorrelationClustering":
        from .estimator import CorrelationClustering

        return CorrelationClustering
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "CorrelationClustering"])
