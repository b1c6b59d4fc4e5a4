import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from bdcc_jax.base.components import connected_components
from bdcc_jax.base.labels import canonical_labels


def by_scipy(n, u, v):
    matrix = sp.coo_array((np.ones(len(u)), (u, v)), shape=(n, n))
    return canonical_labels(csgraph.connected_components(matrix, directed=False)[1])


@settings(max_examples=100)
@given(st.integers(1, 60), st.integers(0, 100), st.integers(0, 2**32 - 1))
def test_components_agree_with_scipy_and_are_numbered_by_first_appearance(n, m, seed):
    rng = np.random.default_rng(seed)
    u, v, kept = rng.integers(0, n, m), rng.integers(0, n, m), rng.random(m) < 0.6
    found = connected_components(n, u, v, kept)
    assert found.tolist() == by_scipy(n, u[kept], v[kept]).tolist()


def test_a_long_path_in_an_order_that_makes_tall_trees():
    n = 20_000
    nodes = np.arange(n)[::-1]
    everything = np.ones(n - 1, dtype=bool)
    assert not connected_components(n, nodes[1:], nodes[:-1], everything).any()
    broken = everything.copy()
    broken[n // 2] = False
    labels = connected_components(n, nodes[:-1].copy(), nodes[1:].copy(), broken)
    assert labels.tolist() == by_scipy(n, nodes[:-1][broken], nodes[1:][broken]).tolist()


def test_nothing_kept():
    ends, kept = np.array([0, 1]), np.zeros(2, dtype=bool)
    assert connected_components(4, ends, ends + 1, kept).tolist() == [0, 1, 2, 3]


def test_no_edges():
    none = np.empty(0, dtype=np.int64)
    assert connected_components(2, none, none, np.empty(0, dtype=bool)).tolist() == [0, 1]


def test_loops_and_parallel_edges():
    u, v = np.array([0, 2, 3, 3]), np.array([0, 3, 2, 2])
    assert connected_components(4, u, v, np.ones(4, dtype=bool)).tolist() == [0, 1, 2, 2]
