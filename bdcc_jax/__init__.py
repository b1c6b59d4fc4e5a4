"""Exact correlation clustering (minimum cost multicut) by Benders decomposition."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.environment import show_versions
from .batch import BatchProgress, solve_batch
from .instance.graph import Graph
from .io import FormatError, read, write
from .options import Options, PDLPOptions
from .result import Failure, Progress, Result, Round, Status
from .solve import solve
from .verify import Rejected, Verdict, verify
from .weights import SuspiciousWeights, weights_from_probabilities

if TYPE_CHECKING:
    from . import graphs as graphs
    from . import image as image
    from . import io as io
    from . import large as large
    from . import layers as layers
    from . import metrics as metrics
    from . import report as report
    from . import tables as tables
    from . import volumes as volumes
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
    "SuspiciousWeights",
    "Verdict",
    "read",
    "show_versions",
    "solve",
    "solve_batch",
    "verify",
    "weights_from_probabilities",
    "write",
]
__version__ = "0.2.0"

_SUBPACKAGES = (
    "graphs",
    "image",
    "io",
    "large",
    "layers",
    "metrics",
    "report",
    "tables",
    "volumes",
)

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless asked for


def __getattr__(name: str) -> Any:
    """Import at its first use what takes a while, or needs packages that only its users have."""
    if name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    if name == "CorrelationClustering":
        from .estimator import CorrelationClustering

        return CorrelationClustering
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES, "CorrelationClustering", "__version__"])
