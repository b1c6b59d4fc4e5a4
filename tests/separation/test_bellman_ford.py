"""Detection on the device against Dijkstra's algorithm, and how the kernels compile."""

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from oracles import instance, instances, random_graph
from scipy.sparse.csgraph import dijkstra

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device import bellman_ford, device_finder
from bdcc_jax.separation.device.bellman_ford import FAR, arc_groups, distances, shortest_path_trees
from bdcc_jax.separation.device.buckets import bucket, pad
from bdcc_jax.separation.device.device_finder import DeviceFinder
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder

CPU = jax.devices("cpu")[0]


def star_and_path(leaves):
    """A hub with many arcs, to make several levels of groups, and a path with many hops."""
    u = np.concatenate([np.zeros(leaves, int), np.arange(leaves, leaves + 40)])
    v = np.concatenate([np.arange(1, leaves + 1), np.arange(leaves + 1, leaves + 41)])
    return Graph.from_edges(u, v, np.ones(len(u)))


GRAPHS = {
    "sparse": random_graph(np.random.default_rng(0), 60, 0.06),
    "dense": random_graph(np.random.default_rng(1), 40, 1.0),
    "one edge": Graph.from_edges([0], [1], [1.0]),
    "hub of 7": star_and_path(7),
    "hub of 8": star_and_path(8),
    "hub of 9": star_and_path(9),
    "hub of 600": star_and_path(600),
    "no positive edge": Graph.from_edges([0], [1], [-1.0]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_distances_and_trees_agree_with_scipy(name):
    graph = GRAPHS[name]
    rng = np.random.default_rng(3)
    x = rng.random(graph.m) * (rng.random(graph.m) < 0.6)  # many zero lengths
    u, v = graph.edges[graph.positive].T
    matrix = sp.csr_array((x[graph.positive], (u, v)), shape=(graph.n, graph.n))
    roots = rng.integers(0, graph.n, 5)
    expected = dijkstra(matrix, directed=False, indices=roots).T
    limit = 0.8
    arcs = arc_groups(graph)
    with jax.enable_x64(True):
        lengths = jax.device_put(pad(x, graph.m + 3, np.inf))
        columns = jax.device_put(np.append(roots, -1).astype(np.int32))
        found = distances(arcs, lengths, columns, jax.device_put(np.full(6, limit)))
        hops, arc = map(np.asarray, shortest_path_trees(arcs, lengths, columns, found))
        found = np.asarray(found)
    np.testing.assert_array_equal(
        found[: graph.n, :5], np.where(expected < limit, expected, np.inf)
    )
    assert np.isinf(found[:, 5]).all()
    assert np.isinf(found[graph.n :]).all()
    for column, root in enumerate(roots):
        for node in range(graph.n):
            if np.isinf(found[node, column]):
                assert arc[node, column] == hops[node, column] == FAR
                continue
            steps, at = 0, node
            while at != root:
                step = arc[at, column]
                at, steps = int(arcs.neighbour.ravel()[step]), steps + 1
                assert steps <= hops[node, column]
            assert steps == hops[node, column]


def same_balls(graph, x, ball_size, memory=2**28):
    cover = vertex_cover(graph, "greedy")
    ours = DeviceFinder(graph, cover, ball_size, CPU, memory).find(x, Clock(None))
    theirs = DijkstraFinder(graph, cover, ball_size).find(x, Clock(None))
    assert [b.nodes[0] for b in ours] == [b.nodes[0] for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert sorted(a.target_edges) == sorted(b.target_edges)
        length = {e: len(b.tree_path(v)) for v, e in zip(b.targets, b.target_edges, strict=True)}
        for node, edge in zip(a.targets, a.target_edges, strict=True):
            path = a.edges[a.tree_path(node)]
            assert len(path) == length[edge]
            assert x[path].sum() < x[edge]
        if ball_size is None:
            assert set(a.nodes) == set(b.nodes)
            assert set(a.edges) == set(b.edges)
    return len(ours)


@pytest.mark.parametrize("ball_size", [3, None])
@pytest.mark.parametrize("memory", [1, 2**28], ids=["chunks of 8", "one chunk"])
def test_same_verdicts_as_dijkstra(ball_size, memory):
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 70, 0.1)
    for x in (
        graph.negative.astype(float),
        np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 3 / 2),
    ):
        assert same_balls(graph, x, ball_size, memory) > 10
    assert same_balls(graph, np.zeros(graph.m), ball_size, memory) == 0


@pytest.mark.parametrize(
    "name",
    [
        *instances("opengm-imageseg-stitched")[:3],
        "opengm-knott3d-stitched/knott-3d-450-piece00",
        "bsds300test-rf255ucm/42049",
        "signed-network/congress",
        "modularity/karate",
    ],
)
def test_same_verdicts_on_real_instances(name):
    graph = instance(name)
    rng = np.random.default_rng(0)
    fractional = np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 3 / 2)
    for x in (graph.negative.astype(float), fractional):
        same_balls(graph, x, 64)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for family in (
            "opengm-imageseg-stitched",
            "opengm-knott3d-stitched",
            "bsds300test-rf255ucm",
        )
        for name in instances(family)
    ],
)
def test_same_verdicts_on_every_image(name):
    test_same_verdicts_on_real_instances(name)


def test_the_deadline_is_honoured():
    graph = GRAPHS["sparse"]
    finder = DeviceFinder(graph, vertex_cover(graph, "greedy"), None, CPU)
    with pytest.raises(TimeLimitReached):
        finder.find(graph.negative.astype(float), Clock(0.0))


def kernels(graph, width=8):
    """Every kernel with the arguments of a call."""
    arcs = jax.device_put(arc_groups(graph))
    lengths = jax.device_put(pad(np.zeros(graph.m), bucket(graph.m + 1), np.inf))
    roots = jax.device_put(np.zeros(width, np.int32))
    limits = jax.device_put(np.ones(width))
    near = distances(arcs, lengths, roots, limits)
    hops, most = shortest_path_trees(arcs, lengths, roots, near)[0], jax.device_put(np.int32(9))
    return {
        "distances": (bellman_ford.come_nearer, (arcs, lengths, limits, near, most)),
        "hops": (bellman_ford.count_hops, (arcs, lengths, near, hops, most)),
        "parents": (bellman_ford.to_parents, (arcs, lengths, near, hops)),
        "picked": (device_finder._pick, (roots, near, roots)),
        "violated": (device_finder._violated, (near, roots, roots, limits)),
    }


@pytest.mark.parametrize("name", ["distances", "hops", "parents", "picked", "violated"])
def test_kernels_run_without_transfers_and_lower_for_cuda(name):
    with jax.enable_x64(True):
        kernel, arguments = kernels(GRAPHS["hub of 600"])[name]
        with jax.transfer_guard("disallow"):
            jax.block_until_ready(kernel(*arguments))
        exported = jax.export.export(kernel, platforms=["cuda"])(*arguments)
    text = exported.mlir_module()
    assert "callback" not in text
    assert "scatter" not in text


def test_the_callers_x64_is_left_alone():
    graph = GRAPHS["sparse"]
    before = jax.config.jax_enable_x64
    same_balls(graph, graph.negative.astype(float), None)
    assert jax.config.jax_enable_x64 == before


def test_similar_instances_share_kernels():
    """Sizes are rounded to buckets: graphs of 40 to 48 nodes compile once."""
    rng = np.random.default_rng(8)
    graphs = [random_graph(rng, n, 0.3) for n in range(40, 49)]
    bellman_ford.come_nearer.clear_cache()
    for graph in graphs:
        finder = DeviceFinder(graph, vertex_cover(graph, "greedy"), None, CPU)
        finder.find(graph.negative.astype(float), Clock(None))
    assert bellman_ford.come_nearer._cache_size() <= 6


@pytest.mark.parametrize("size", range(1, 200))
def test_buckets_waste_less_than_a_third(size):
    rounded = bucket(size, least=1)
    assert size <= rounded < 1.5 * size + 1
