"""elf's convention for solvers; with elf itself where it is installed."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracles import brute_force, random_graph

from bdcc_jax.image.elf import multicut, multicut_from_edges


def as_elf(graph):
    return SimpleNamespace(number_of_nodes=graph.n, uv_ids=lambda: graph.edges.astype(np.uint64))


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_optimal(seed):
    graph = random_graph(np.random.default_rng(seed), 8, 0.7)
    labels = multicut(as_elf(graph), graph.weights, n_threads=2, segmentation=None)
    assert labels.shape == (8,)
    assert labels.dtype == np.uint64
    assert graph.objective(labels.astype(int)) == pytest.approx(brute_force(graph))
    again = multicut_from_edges(graph.n, graph.edges.astype(np.uint64), graph.weights)
    assert np.array_equal(labels, again)


def test_nodes_without_edges_and_the_names_of_nifty():
    nifty = SimpleNamespace(numberOfNodes=4, uvIds=lambda: np.array([(0, 1)]))
    assert multicut(nifty, np.array([1.0], np.float32)).tolist() == [0, 0, 1, 2]


def test_time_limit():
    graph = random_graph(np.random.default_rng(0), 30, 1.0)
    assert len(multicut(as_elf(graph), graph.weights, time_limit=0)) == 30


def test_errors():
    with pytest.raises(TypeError, match=r"number_of_nodes and uv_ids\(\), as elf's have, not 'lis"):
        multicut([(0, 1)], [1.0])


def test_elf_itself():
    elf = pytest.importorskip("elf.segmentation.multicut")
    bic = pytest.importorskip("bioimage_cpp")
    # Supervoxels of 4 x 4 x 4 voxels; two objects, left and right, and noise.
    size = np.indices((6, 6, 6)).reshape(3, -1)
    nodes = np.ravel_multi_index(size, (6, 6, 6)).reshape(6, 6, 6)
    segmentation = nodes.repeat(4, 0).repeat(4, 1).repeat(4, 2).astype(np.uint64)
    edges = [
        np.column_stack([np.delete(nodes, -1, a).ravel(), np.delete(nodes, 0, a).ravel()])
        for a in range(3)
    ]
    uv = np.sort(np.concatenate(edges).astype(np.uint64), axis=1)
    left = size[2] < 3
    apart = left[uv[:, 0].astype(int)] != left[uv[:, 1].astype(int)]
    costs = np.where(apart, -1.0, 1.0) + np.random.default_rng(0).normal(0, 0.6, len(uv))
    graph = bic.graph.UndirectedGraph.from_edges(216, uv)

    def energy(labels):
        u, v = np.asarray(graph.uv_ids()).astype(int).T
        return costs[labels[u] != labels[v]].sum()

    exact = energy(multicut(graph, costs))
    for theirs in ("kernighan-lin", "greedy-additive"):
        assert exact <= energy(elf.get_multicut_solver(theirs)(graph, costs)) + 1e-9
    blockwise = elf.blockwise_multicut(
        graph, costs, segmentation, internal_solver=multicut, block_shape=[12, 12, 12], n_threads=2
    )
    assert blockwise.shape == (216,)
    assert exact <= energy(blockwise) + 1e-9
