"""What rows for classes say: of a node that it has one class, of an edge which classes differ.

The rows are those of :mod:`~bdcc_jax.separation.classes`; class l is node n + l.
"""

from ..instance.terminals import TerminalGraph


class ClassesInNodes:
    """Finds the nodes and classes of a row.

    Parameters
    ----------
    graph : TerminalGraph
        An instance with classes.
    """

    def __init__(self, graph: TerminalGraph) -> None:
        self._edges, self._m = graph.edges, graph.ordinary.m

    def __call__(
        self, edges: list[int], values: list[float], upper: float
    ) -> tuple[str, float, list[int]] | None:
        """The kind, 1, and the nodes; None if the row is one over edges alone."""
        pairs = [(*self._edges[e].tolist(), y) for e, y in zip(edges, values, strict=True)]
        cut = [pair for e, pair in zip(edges, pairs, strict=True) if e < self._m]
        if len(cut) == len(pairs):
            return None
        if not cut:
            return "one class" if upper > 0.0 else "any class", 1.0, [pairs[0][0]]
        chosen = [pair for e, pair in zip(edges, pairs, strict=True) if e >= self._m]
        ((u, v, _),) = cut
        towards = {node if value > 0.0 else u + v - node for node, _, value in chosen}.pop()
        return "class", 1.0, [towards, u + v - towards, *sorted({label for _, label, _ in chosen})]
