"""The problem that an instance is: what it has besides edges and weights says so."""

from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from .class_problem import ClassProblem
from .count_problem import CountProblem
from .lifted import Lifted
from .problem import Problem


def problem_of(graph: Graph) -> Problem:
    """Which clusterings of an instance count, and how they are found.

    Examples
    --------
    >>> type(problem_of(Graph(2, [(0, 1)], [1.0]))).__name__
    'Problem'
    """
    if isinstance(graph, TerminalGraph):
        return ClassProblem(graph)
    if graph.lifted is not None:
        return Lifted(graph)
    least, most = graph.constraints.min_clusters, graph.constraints.max_clusters
    if least is None and most is None:
        return Problem(graph)
    return CountProblem(graph, least or 1, graph.n if most is None else min(most, graph.n))
