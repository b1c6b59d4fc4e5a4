"""Correlation clustering as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .base.environment import install_hint

try:
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import validate_data
except ImportError as missing:
    raise ImportError(
        f"CorrelationClustering needs scikit-learn: {install_hint('sklearn')}"
    ) from missing

from .attempt import solve_graph
from .base.arrays import FloatArray
from .graphs import similarity_graph
from .instance.constraints import Groups, Pairs
from .instance.graph import Graph
from .io.unsigned_graph import MAX_PAIRS, check_pairs
from .options import Options
from .solve import modelled, solve

AFFINITIES = ("rbf", "cosine", "correlation", "precomputed")


class CorrelationClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster so that similar samples are together and others apart; exact, and finds the number.

    Every pair of samples has a weight: its affinity minus a threshold. The clustering has the
    least sum of positive weights between clusters and negative weights inside them.

    Parameters
    ----------
    affinity : {'rbf', 'cosine', 'correlation', 'precomputed'} or callable
        How alike two samples are. 'rbf': ``exp(-gamma * |x - y|**2)``, between 0 and 1. 'cosine'
        and 'correlation' (of the features of two samples): between -1 and 1. 'precomputed': X
        is a symmetric matrix of signed weights, dense or sparse; in a sparse one, pairs that are
        not stored do not count. A callable takes X and returns such a matrix.
    threshold : float, optional
        More alike than this attracts, less repels. If not given, 0.5 for the three affinities
        by name, and 0 for 'precomputed' and callables: their signs are taken as they are.
    gamma : float, optional
        For 'rbf'; ``1 / (n_features * X.var())`` if not given.
    time_limit : float, optional
        Seconds; the best clustering by then is kept. None: until it is proven optimal, which may
        take very long for hundreds of samples without clear clusters.
    min_clusters, max_clusters : int, optional
        How many clusters there are at least, and at most.
    gap : float
        Stop once ``(objective - lower_bound) / |objective|`` is at most this.
    random_state : int, RandomState instance or None
        The same integer gives the same result.
    device : str
        Where to compute, as for :func:`bdcc_jax.solve`.
    options : Options, optional
        How to solve.
    max_pairs : int
        Refuse more pairs of samples than this, rather than run out of memory.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of every sample.
    n_clusters_ : int
        How many clusters there are.
    objective_ : float
        The sum of the weights between clusters; the smaller, the better.
    lower_bound_ : float
        No clustering has a smaller objective.
    classes_ : ndarray of int, shape (n_samples,), or None
        The class of every sample, if clusters have classes.
    status_ : str
        'optimal' with a proof; see :class:`bdcc_jax.Status`.
    result_ : Result
        Everything else that the solve returned.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0]]
    >>> CorrelationClustering().fit_predict(X).tolist()
    [0, 0, 1, 1, 2]
    >>> W = [[0, 2, -1], [2, 0, -3], [-1, -3, 0]]
    >>> CorrelationClustering(affinity="precomputed").fit(W).labels_.tolist()
    [0, 0, 1]
    """

    def __init__(
        self,
        affinity: str | Callable[[Any], Any] = "rbf",
        *,
        threshold: float | None = None,
        gamma: float | None = None,
        min_clusters: int | None = None,
        max_clusters: int | None = None,
        time_limit: float | None = 60.0,
        gap: float = 0.0,
        random_state: Any = 0,
        device: str = "auto",
        options: Options | None = None,
        max_pairs: int = MAX_PAIRS,
    ) -> None:
        self.affinity = affinity
        self.threshold = threshold
        self.gamma = gamma
        self.min_clusters = min_clusters
        self.max_clusters = max_clusters
        self.time_limit = time_limit
        self.gap = gap
        self.random_state = random_state
        self.device = device
        self.options = options
        self.max_pairs = max_pairs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        groups: Groups | None = None,
        unaries: ArrayLike | None = None,
    ) -> CorrelationClustering:
        """Find the clusters.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or with ``affinity="precomputed"`` the matrix of weights.
        y : ignored
            Here for scikit-learn's sake.
        must_link, cannot_link, groups : optional
            Pairs of samples that must, or cannot, be in one cluster, and groups of which no two
            can; see :meth:`bdcc_jax.Graph.constrained`.
        unaries : array_like, shape (n_samples, k), optional
            What each of k classes costs each sample, if clusters have classes; see
            :meth:`bdcc_jax.Graph.classified`.
        """
        if not callable(self.affinity) and self.affinity not in AFFINITIES:
            known = ", ".join(map(repr, AFFINITIES))
            raise ValueError(
                f"affinity must be a callable or one of {known}, not {self.affinity!r}"
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        graph = modelled(
            self._instance(X),
            must_link=must_link,
            cannot_link=cannot_link,
            groups=groups,
            min_clusters=self.min_clusters,
            max_clusters=self.max_clusters,
            unaries=unaries,
        )
        # Weights that are made here need no warning if all of them attract.
        made_by_user = callable(self.affinity) or self.affinity == "precomputed"
        result = (solve if made_by_user else solve_graph)(
            graph,
            device=self.device,
            time_limit=self.time_limit,
            gap=self.gap,
            seed=_seed(self.random_state),
            options=self.options,
        )
        self.labels_ = result.labels
        self.n_clusters_ = result.n_clusters
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.classes_ = result.classes
        self.status_ = str(result.status)
        self.result_ = result
        return self

    def _instance(self, X: Any) -> Graph:
        if callable(self.affinity):
            S, threshold = self.affinity(X), 0.0
            if np.shape(S) != (X.shape[0], X.shape[0]):
                raise ValueError(
                    f"affinity must return a matrix of shape {(X.shape[0], X.shape[0])}, "
                    f"not {np.shape(S)}"
                )
        elif self.affinity == "precomputed":
            S, threshold = X, 0.0
        else:
            check_pairs(X.shape[0], self.max_pairs)
            S, threshold = _similarities(X, self.affinity, self.gamma), 0.5
        if self.threshold is not None:
            threshold = self.threshold
        return similarity_graph(S, threshold, max_pairs=self.max_pairs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def _similarities(X: Any, affinity: str, gamma: float | None) -> FloatArray:
    if affinity == "rbf":
        if gamma is None:
            variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var())
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        elif not 0 < gamma < np.inf:
            raise ValueError(f"gamma must be a positive number, not {gamma}")
        S: FloatArray = rbf_kernel(X, gamma=gamma)
    elif affinity == "cosine":
        S = cosine_similarity(X)
    else:
        dense = X.toarray() if sp.issparse(X) else X
        S = cosine_similarity(dense - dense.mean(axis=1, keepdims=True))
    return S


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
