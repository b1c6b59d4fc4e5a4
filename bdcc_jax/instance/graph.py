"""The instance: an immutable graph with signed edge weights, validated once at the door."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.components import connected_components
from ..base.labels import canonical_labels
from ..base.sums import exact_sum, sum_down
from ..base.validation import (
    canonical_edges,
    canonical_lifted_edges,
    lifted_edges,
    lifted_mask,
    node_count,
    node_ids,
    node_names,
    plain_array,
    real_weights,
)
from ..combinations import check_together
from .classes import best_classes, check_possible, class_costs
from .constraints import NONE, Constraints, Groups, NodeOf, Pairs, pairs_of
from .matrix import edges_of_matrix
from .named_edges import edges_of_networkx, edges_of_table

if TYPE_CHECKING:  # optional at run time
    import networkx as nx
    import pandas as pd


@dataclass(frozen=True, eq=False, init=False)
class Graph:
    """A correlation clustering instance.

    ``w > 0`` is attractive: cutting the edge costs ``w``. ``w < 0`` is repulsive: keeping its ends
    together costs ``|w|``. Edges are stored once as ``u < v`` in lexicographic order. Parallel and
    reversed edges are summed, edges whose weight is (or sums to) zero are dropped, self-loops are
    dropped with a warning because no clustering can cut them, isolated nodes are kept.

    Parameters
    ----------
    n : int
        Number of nodes; ids are ``0 .. n - 1``.
    edges : array_like, shape (m, 2)
        Node ids.
    weights : array_like, shape (m,)
        Real weights. ``inf`` means that the ends must be together, ``-inf`` that they cannot be:
        such edges become constraints, and are no edges.
    names : sequence of hashable, optional
        One name a node, if the nodes are called something else than their ids.
    lifted : array_like of bool, shape (m,), optional
        Which of the edges are lifted: they have a weight, but do not connect. With such edges only
        clusterings count whose clusters are connected by the other, ordinary edges. A pair that is
        both is ordinary, with the sum of the weights; ordinary edges are kept also with weight 0.

    Attributes
    ----------
    constraints : Constraints
        Pairs that every clustering must keep together, or apart; see :meth:`constrained`.
    lifted : ndarray of bool, shape (m,), or None
        Which of ``edges`` are lifted; None if none is, so that all clusterings count.
    unaries : ndarray, shape (n, k), or None
        What every class costs every node, if clusters have classes; see :meth:`classified`.

    Examples
    --------
    >>> graph = Graph(3, [(0, 1), (2, 1), (0, 2)], [1.0, 2.0, -1.5])
    >>> graph.m, graph.edges.tolist(), graph.weights.tolist()
    (3, [[0, 1], [0, 2], [1, 2]], [1.0, -1.5, 2.0])
    >>> graph.objective([0, 0, 0]), graph.disagreement([0, 0, 0])
    (0.0, 1.5)
    """

    n: int
    edges: IntArray
    weights: FloatArray
    names: tuple[Hashable, ...] | None
    constraints: Constraints
    lifted: BoolArray | None
    unaries: FloatArray | None

    def __init__(
        self,
        n: int,
        edges: ArrayLike,
        weights: ArrayLike,
        names: Sequence[Hashable] | None = None,
        lifted: ArrayLike | None = None,
    ) -> None:
        pairs = plain_array(edges, "edges")
        if pairs.size == 0:
            pairs = np.empty((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"edges must have shape (m, 2), not {pairs.shape}")
        n = node_count(n)
        u, v = node_ids(pairs[:, 0], "edges"), node_ids(pairs[:, 1], "edges")
        w = real_weights(weights, len(u))
        if len(u) and (largest := int(max(u.max(), v.max()))) >= n:
            raise ValueError(f"node id {largest} is out of range: n = {n} allows 0 .. {n - 1}")
        finite, constraints = np.isfinite(w), NONE
        mask = None if lifted is None else lifted_mask(lifted, len(u))
        if mask is not None and mask.any():
            if not finite.all():
                check_together(["lifted", "must_link" if np.inf in w else "cannot_link"])
            ends, weights, mask = canonical_lifted_edges(n, u, v, w, mask)
            self._set(n, ends, weights, node_names(names, n), NONE, mask)
            return
        if not finite.all():
            constraints = Constraints.infinite(u[~finite], v[~finite], w[~finite])
            u, v, w = u[finite], v[finite], w[finite]
        self._set(n, *canonical_edges(n, u, v, w), node_names(names, n), constraints)
        constraints.check(n, self.name)

    def _set(
        self,
        n: int,
        edges: IntArray,
        weights: FloatArray,
        names: tuple[Hashable, ...] | None = None,
        constraints: Constraints = NONE,
        lifted: BoolArray | None = None,
        unaries: FloatArray | None = None,
    ) -> None:
        for array in (edges, weights, lifted, unaries):
            if array is not None:
                array.flags.writeable = False
        for field, value in (
            ("n", n),
            ("edges", edges),
            ("weights", weights),
            ("names", names),
            ("constraints", constraints),
            ("lifted", lifted),
            ("unaries", unaries),
        ):
            object.__setattr__(self, field, value)

    @classmethod
    def _trusted(cls, n: int, edges: IntArray, weights: FloatArray) -> Graph:
        """Build without checks, from edges that are canonical already; takes the arrays over."""
        graph = object.__new__(cls)
        graph._set(n, edges, weights)
        return graph

    def _with(self, **changes: Any) -> Graph:
        """The same instance with other attributes, which are trusted and taken over."""
        names = ("n", "edges", "weights", "names", "constraints", "lifted", "unaries")
        graph = object.__new__(type(self))
        graph._set(**{name: getattr(self, name) for name in names} | changes)
        return graph

    def _with_weights(self, weights: FloatArray) -> Graph:
        """The same instance with other weights, which are trusted and taken over."""
        return self._with(weights=weights)

    @property
    def features(self) -> tuple[str, ...]:
        """What it has besides edges and weights, as :mod:`~bdcc_jax.combinations` names it."""
        lifted = () if self.lifted is None else ("lifted",)
        classes = () if self.unaries is None else ("unaries",)
        return (*lifted, *classes, *self.constraints.features)

    def constrained(
        self,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        groups: Groups | None = None,
        min_clusters: int | None = None,
        max_clusters: int | None = None,
    ) -> Graph:
        """The same instance, but only clusterings with these properties count.

        Parameters
        ----------
        must_link, cannot_link : pairs of nodes, optional
            By id or by name. Each pair must be in one cluster, or cannot be. It need not be an
            edge.
        groups : array_like, shape (n,), or mapping from nodes, optional
            No two nodes of one group are in one cluster: at most one record of every source, for
            example. None, NaN or -1 for a node that is in no group.
        min_clusters, max_clusters : int, optional
            How many clusters there are at least, and at most. A cluster that edges do not hold
            together may be split, and clusters that no edge joins may be put together, at no cost.

        Returns
        -------
        Graph
            With these constraints and those that this one has.

        Raises
        ------
        ValueError
            No clustering can have them all; the message names a chain of pairs that says so.

        Examples
        --------
        >>> import bdcc_jax
        >>> graph = Graph(3, [(0, 1), (1, 2)], [1.0, 2.0]).constrained(groups=["a", "b", "a"])
        >>> bdcc_jax.solve(graph).labels.tolist()
        [0, 1, 1]
        >>> graph.constrained(must_link=[(0, 1), (1, 2)])
        Traceback (most recent call last):
        ValueError: must_link (0, 1), (1, 2) contradicts that nodes 0 and 2 are of one group
        """
        said = (must_link, cannot_link, groups, min_clusters, max_clusters)
        more = Constraints.of(self.n, self._node_by_name(), *said)
        return self._constrained(self.constraints.also(more))

    def constrained_by_id(
        self,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        groups: Groups | None = None,
        min_clusters: int | None = None,
        max_clusters: int | None = None,
    ) -> Graph:
        """As :meth:`constrained`, with ids also where nodes have names."""
        said = (must_link, cannot_link, groups, min_clusters, max_clusters)
        return self._constrained(self.constraints.also(Constraints.of(self.n, None, *said)))

    def _constrained(self, constraints: Constraints) -> Graph:
        graph = self._with(constraints=constraints)
        check_together(graph.features)
        constraints.check(self.n, self.name)
        graph._check_classes()
        return graph

    def classified(self, unaries: ArrayLike) -> Graph:
        """The same instance, but every cluster has a class.

        Edges between clusters of different classes are cut, as all edges between clusters are; two
        clusters may have the same class. A clustering costs what it cuts, and for every node what
        the class of its cluster costs it.

        Parameters
        ----------
        unaries : array_like, shape (n, k)
            What each of the k classes costs each node; inf for a class that a node cannot have.

        Examples
        --------
        >>> import bdcc_jax
        >>> path = Graph(3, [(0, 1), (1, 2)], [1.0, 1.0])
        >>> result = bdcc_jax.solve(path.classified([[0, 3], [1, 2], [4, 0]]))
        >>> result.classes.tolist(), result.objective
        ([0, 0, 1], 2.0)
        """
        if self.unaries is not None:
            raise ValueError("the graph has unaries already; give all costs in one array")
        graph = self._with(unaries=class_costs(unaries, self.n))
        check_together(graph.features)
        graph._check_classes()
        return graph

    def _check_classes(self) -> None:
        if self.unaries is not None and len(self.constraints.must_link):
            check_possible(self.unaries, self.constraints.joined(self.n), self.name)

    def classes(self, labels: ArrayLike) -> IntArray | None:
        """The class of every node if every cluster has its best one; None without classes."""
        if self.unaries is None:
            return None
        return best_classes(self.unaries, canonical_labels(self._one_a_node(labels)))

    def nodes_of(self, pairs: Pairs, what: str) -> IntArray:
        """Check pairs of nodes, by id or by name; ids, each pair once and sorted."""
        return pairs_of(pairs, what, self.n, self._node_by_name())

    def name(self, node: int) -> Hashable:
        """What a node is called: its id, if it has no name."""
        return node if self.names is None else self.names[node]

    def _node_by_name(self) -> NodeOf | None:
        """Finds the id of a node by its name, or, unless numbers are names here, by its id."""
        if self.names is None:
            return None
        index, first = {name: i for i, name in enumerate(self.names)}, self.names[0]
        by_id = not any(isinstance(name, int | float) for name in index)

        def node(key: Any) -> int:
            if key in index:
                return index[key]
            if by_id and isinstance(key, int | np.integer) and 0 <= key < self.n:
                return int(key)
            raise ValueError(f"there is no node {key!r}; nodes have names such as {first!r}")

        return node

    @classmethod
    def from_edges(
        cls,
        u: ArrayLike,
        v: ArrayLike,
        w: ArrayLike,
        n: int | None = None,
        *,
        lifted: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    ) -> Graph:
        """Build a graph from the two ends and the weight of every edge.

        Parameters
        ----------
        u, v : array_like of int, shape (m,)
            Node ids, 0-based; they need not be contiguous.
        w : array_like of float, shape (m,)
            Weights.
        n : int, optional
            Number of nodes; the largest id plus one if not given.
        lifted : three array_like, optional
            The two ends and the weight of every lifted edge, which does not connect: only
            clusterings count whose clusters are connected by the other edges.

        Examples
        --------
        >>> Graph.from_edges([0, 1, 1], [1, 2, 0], [1.0, -2.0, 0.5]).weights.tolist()
        [1.5, -2.0]
        >>> graph = Graph.from_edges([0, 1], [1, 2], [-1.0, 0.0], lifted=([0], [2], [3.0]))
        >>> graph.edges.tolist(), graph.lifted.tolist()
        ([[0, 1], [0, 2], [1, 2]], [False, True, False])
        """
        u, v = node_ids(u, "u"), node_ids(v, "v")
        if len(u) != len(v):
            raise ValueError(f"u and v must have the same length, not {len(u)} and {len(v)}")
        mask = None
        if lifted is not None:
            lu, lv, lw = lifted_edges(lifted)
            w = np.concatenate([real_weights(w, len(u)), lw])
            mask = np.repeat([False, True], [len(u), len(lu)])
            u, v = np.concatenate([u, lu]), np.concatenate([v, lv])
        if n is None:
            if len(u) == 0:
                raise ValueError("the graph is empty: give at least one edge, or n")
            n = int(max(u.max(), v.max())) + 1
        return cls(n, np.column_stack([u, v]), w, lifted=mask)

    @classmethod
    def from_networkx(cls, G: nx.Graph, weight: str = "weight") -> Graph:
        """Build a graph from a networkx graph; both directions of a directed one are summed.

        Parameters
        ----------
        G : networkx.Graph
            Any of networkx's four graph classes.
        weight : str
            The edge attribute that holds the weight. Every edge must have it.

        Examples
        --------
        >>> import networkx as nx
        >>> G = nx.Graph()
        >>> G.add_edge("a", "b", weight=2.0)
        >>> Graph.from_networkx(G).names
        ('a', 'b')
        """
        return cls(*edges_of_networkx(G, weight))

    @classmethod
    def from_scipy(cls, A: Any) -> Graph:
        """Build a graph from a symmetric sparse matrix of signed weights.

        Parameters
        ----------
        A : scipy sparse array or matrix, shape (n, n)
            Stored entries are edges; the diagonal holds self-loops.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> Graph.from_scipy(sp.csr_array([[0, 1.0], [1.0, 0]])).m
        1
        """
        return cls(*edges_of_matrix(A))

    @classmethod
    def from_dense(cls, W: ArrayLike) -> Graph:
        """Build a graph from a symmetric dense matrix of signed weights; zero means no edge.

        Parameters
        ----------
        W : array_like, shape (n, n)
            The weights; the diagonal holds self-loops.

        Examples
        --------
        >>> Graph.from_dense([[0, 1, -1], [1, 0, 0], [-1, 0, 0]]).edges.tolist()
        [[0, 1], [0, 2]]
        """
        return cls.from_scipy(plain_array(W, "the matrix"))

    @classmethod
    def from_pandas(
        cls,
        df: pd.DataFrame,
        source: str = "source",
        target: str = "target",
        weight: str = "weight",
    ) -> Graph:
        """Build a graph from a table with one edge a row; the two node columns hold names.

        Parameters
        ----------
        df : pandas.DataFrame
            The table.
        source, target, weight : str
            Its columns. Node names may be of any hashable kind; nodes are sorted by name.

        Examples
        --------
        >>> import pandas as pd
        >>> df = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "w": [1.0, -1.0]})
        >>> Graph.from_pandas(df, "a", "b", "w").names
        ('x', 'y', 'z')
        """
        return cls(*edges_of_table(df, source, target, weight))

    def __repr__(self) -> str:
        return (
            f"Graph(n={self.n}, m={self.m}, "
            f"positive={int(self.positive.sum())}, negative={int(self.negative.sum())}"
            + ("" if self.lifted is None else f", lifted={int(self.lifted.sum())}")
            + ")"
        )

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.weights)

    @cached_property
    def positive(self) -> BoolArray:
        """Which edges are in E+ (attractive)."""
        return self.weights > 0

    @cached_property
    def negative(self) -> BoolArray:
        """Which edges are in E- (repulsive)."""
        return self.weights < 0

    @cached_property
    def negative_sum(self) -> float:
        """Sum of the negative weights, rounded down: no clustering costs less."""
        return sum_down(self.weights[self.negative])

    @cached_property
    def positive_adjacency(self) -> Adjacency:
        """The edges of E+ at every node."""
        ids = np.flatnonzero(self.positive)
        u, v = self.edges[ids].T
        return adjacency(self.n, u, v, ids)

    def cut(self, labels: ArrayLike) -> BoolArray:
        """Which edges (in the order of ``edges``) join two different clusters."""
        labels = self._one_a_node(labels)
        differ: BoolArray = labels[self.edges[:, 0]] != labels[self.edges[:, 1]]
        return differ

    def _one_a_node(self, labels: ArrayLike) -> NDArray[Any]:
        labels = np.asarray(labels)
        if labels.shape != (self.n,):
            raise ValueError(f"labels must have shape ({self.n},), not {labels.shape}")
        return labels

    def refined(self, labels: IntArray) -> tuple[IntArray, BoolArray]:
        """Split the clusters that E+ does not hold together, which only cuts negative edges.

        With lifted edges those that ordinary edges do not hold together, which do not count.
        Returns the new clusters, and which edges they cut.
        """
        if self.lifted is not None:
            connected = self.components(~self.lifted & ~self.cut(labels))
            return connected, self.cut(connected)
        return _refined(self.n, self.edges, self.weights, self._one_a_node(labels))

    def objective(self, labels: ArrayLike) -> float:
        """Sum of the weights of the cut edges, and of the best classes: what a clustering costs.

        Infinite if a cluster can have no class.
        """
        costs = self.costs(labels)
        return np.inf if np.isinf(costs).any() else exact_sum(costs)[0]

    def costs(self, labels: ArrayLike) -> FloatArray:
        """What a clustering costs, one by one: the edges that it cuts, then the class of nodes."""
        cut, classes = self.weights[self.cut(labels)], self.classes(labels)
        if self.unaries is None or classes is None:
            return cut
        return np.concatenate([cut, self.unaries[np.arange(self.n), classes]])

    def disagreement(self, labels: ArrayLike) -> float:
        """The paper's CC_1 value: attractive weight cut plus repulsive weight kept."""
        wrong = self.cut(labels) == self.positive
        return exact_sum(np.abs(self.weights[wrong]))[0]

    def components(self, kept: BoolArray) -> IntArray:
        """Label the nodes by the components of the edges in ``kept``, by first appearance."""
        return connected_components(self.n, self.edges[:, 0], self.edges[:, 1], kept)


@compiled
def _refined(
    n: int, edges: IntArray, weights: FloatArray, labels: IntArray
) -> tuple[IntArray, BoolArray]:
    u, v = edges[:, 0], edges[:, 1]
    kept = np.empty(len(weights), np.bool_)
    for e in range(len(weights)):
        kept[e] = weights[e] > 0.0 and labels[u[e]] == labels[v[e]]
    finer = connected_components(n, u, v, kept)
    for e in range(len(weights)):
        kept[e] = finer[u[e]] != finer[v[e]]
    return finer, kept
