import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import brute_force
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bdcc_jax
from bdcc_jax import CorrelationClustering, Graph, Options

# Some checks fit noise, where a proof takes long; that is not what they are about.
QUICK = {"gap": 0.3, "time_limit": None}


EXPECTED_FAILED = {
    "rbf": {},
    "cosine": {},
    "correlation": {"check_clustering": "of two features, the correlation is 1 or -1"},
    "precomputed": {"check_clustering": "it gives features, which are no matrix of weights"},
}


@parametrize_with_checks(
    [
        CorrelationClustering(**QUICK),
        CorrelationClustering("cosine", **QUICK),
        CorrelationClustering("correlation", **QUICK),
        CorrelationClustering("precomputed", **QUICK),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILED[estimator.affinity],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n=60):
    return make_blobs(n, centers=[(0, 0), (6, 0), (0, 7)], cluster_std=0.7, random_state=0)


def test_finds_blobs_and_their_number():
    X, y = blobs()
    estimator = CorrelationClustering().fit(X)
    assert estimator.n_clusters_ == 3
    assert adjusted_rand_score(y, estimator.labels_) == 1
    assert estimator.status_ == "optimal" == estimator.result_.status
    assert estimator.objective_ == pytest.approx(estimator.lower_bound_)
    assert estimator.n_features_in_ == 2
    np.testing.assert_array_equal(CorrelationClustering().fit_predict(X), estimator.labels_)
    assert adjusted_rand_score(y, CorrelationClustering().fit_predict(sp.csr_array(X))) == 1
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) == 1


def test_precomputed_weights_are_solved_as_they_are():
    W = np.random.default_rng(0).normal(size=(7, 7))
    W += W.T
    np.fill_diagonal(W, 0)
    best = brute_force(Graph.from_dense(W))
    for X in (W, sp.csr_array(W), sp.csc_matrix(W), W + 5 * np.eye(7)):
        estimator = CorrelationClustering(affinity="precomputed").fit(X)
        assert estimator.objective_ == pytest.approx(best)
    shifted = CorrelationClustering("precomputed", threshold=0.3).fit(W)
    off = 1 - np.eye(7)
    assert shifted.objective_ == pytest.approx(brute_force(Graph.from_dense((W - 0.3) * off)))


def test_sparse_weights_leave_other_pairs_alone():
    W = sp.csr_array(([1.0, 1.0, -2.0, -2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    estimator = CorrelationClustering("precomputed").fit(W)
    assert estimator.result_.graph.m == 2
    assert estimator.labels_[0] == estimator.labels_[1] != estimator.labels_[2]
    assert CorrelationClustering("precomputed", threshold=0.5).fit(W).result_.graph.m == 2


def test_affinities():
    rising, falling = np.arange(6.0), -np.arange(6.0)
    X = np.array([rising, 3 * rising + 100, falling + 50, 2 * falling, np.ones(6)])
    labels = CorrelationClustering("correlation").fit_predict(X)
    assert labels.tolist() == [0, 0, 1, 1, 2]
    directions = np.array([[1, 0], [5, 0.1], [0, 1], [0.1, 9]])
    assert CorrelationClustering("cosine").fit_predict(directions).tolist() == [0, 0, 1, 1]
    close = np.array([[0.0], [1.0], [1.5]])
    assert CorrelationClustering(gamma=1.0, threshold=0.9).fit(close).n_clusters_ == 3
    assert CorrelationClustering(gamma=1.0, threshold=0.1).fit(close).n_clusters_ == 1

    def signs(X):
        return np.where(X @ X.T > 0, 1.0, -1.0)

    assert CorrelationClustering(signs).fit_predict([[1.0], [2.0], [-1.0]]).tolist() == [0, 0, 1]


def test_how_to_solve():
    W = np.random.default_rng(1).choice([-1.0, 1.0], (25, 25))
    W = np.triu(W, 1) + np.triu(W, 1).T
    estimator = CorrelationClustering("precomputed", options=Options(max_rounds=1), device="cpu")
    assert clone(estimator).fit(W).status_ == "max_rounds"
    assert CorrelationClustering("precomputed", time_limit=0.0).fit(W).status_ == "time_limit"
    for state in (None, np.random.RandomState(0), 7):
        CorrelationClustering("precomputed", gap=0.5, random_state=state).fit(W)


@pytest.mark.parametrize(
    ("arguments", "X", "message"),
    [
        (
            {"affinity": "nearest"},
            np.eye(3),
            "must be a callable or one of 'rbf', .* 'nearest'",
        ),
        ({"gamma": -1.0}, np.eye(3), r"gamma must be a positive number, not -1\.0"),
        ({"affinity": "precomputed"}, np.ones((3, 2)), "must be square"),
        ({"affinity": "precomputed"}, np.triu(np.ones((3, 3))), "must be symmetric"),
        ({"affinity": lambda X: X}, np.ones((3, 2)), r"matrix of shape \(3, 3\), not \(3, 2\)"),
        ({"max_pairs": 2}, np.eye(3), "3 nodes have 3 pairs"),
        ({"time_limit": -1}, np.eye(3), "time_limit must be at least 0"),
        ({}, [[np.nan]], "contains NaN"),
    ],
)
def test_errors(arguments, X, message):
    with pytest.raises(ValueError, match=message):
        CorrelationClustering(**arguments).fit(X)


def test_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None; import bdcc_jax\n"
        "try: bdcc_jax.CorrelationClustering\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip().endswith('pip install ".[sklearn]" in a clone of bdcc_jax')
    assert "CorrelationClustering" in dir(bdcc_jax)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bdcc_jax.nothing
