"""The problem that an instance is: what it has besides edges and weights says so."""

from ..instance.graph import Graph
from .lifted import Lifted
from .problem import Problem


def problem_of(graph: Graph) -> Problem:
    """Which clusterings of an instance count, and how they are found.

    Examples
    --------
    >>> type(problem_of(Graph(2, [(0, 1)], [1.0]))).__name__
    'Problem'
    """
    return Problem(graph) if graph.lifted is None else Lifted(graph)
