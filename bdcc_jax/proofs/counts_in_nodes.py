"""What rows for a number of clusters say of nodes: a forest, or a clique.

The rows are those of :mod:`~bdcc_jax.separation.counts`. A forest is written as one node for every
node, the next one on the way to a root, or itself if it is one.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..instance.graph import Graph


class CountsInNodes:
    """Finds the forest or the clique of a row.

    Parameters
    ----------
    graph : Graph
        An instance with a given number of clusters.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __call__(
        self, edges: list[int], values: list[float], upper: float
    ) -> tuple[str, float, list[int]] | None:
        """The kind, 1, and the nodes; None if the row is of neither kind."""
        if all(value < 0.0 for value in values):
            return "forest", 1.0, self._forest(edges)
        if all(value > 0.0 for value in values):
            return "clique", 1.0, np.unique(self._graph.edges[edges]).tolist()
        return None

    def _forest(self, edges: list[int]) -> list[int]:
        n, (u, v) = self._graph.n, self._graph.edges[edges].T
        tree = sp.coo_array((np.ones(len(edges)), (u, v)), shape=(n, n)).tocsr()
        count, part = connected_components(tree, directed=False)
        up = np.arange(n)
        for root in np.unique(part, return_index=True)[1][:count].tolist():
            order, before = breadth_first_order(tree, root, directed=False)
            up[order[1:]] = before[order[1:]]
        return [int(node) for node in up]
