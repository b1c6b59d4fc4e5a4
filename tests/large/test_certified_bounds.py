"""Both bounds of graphs cut into blocks any way: they hold, and proofs are proofs."""

import numpy as np
import pytest
from oracles import brute_force, random_graph

import bdcc_jax
from bdcc_jax import Graph, Status, large
from bdcc_jax.large import levels, run, tasks
from bdcc_jax.large.budget import BASE, PER_EDGE


def random_blocks(rng, n):
    k = int(rng.integers(2, 5))
    block = rng.integers(0, k, n)
    block[rng.permutation(n)[:k]] = np.arange(k)
    return block


def check(graph, result, best):
    labels = result.all_labels()
    slack = 1e-9 * np.abs(graph.weights).sum()
    assert graph.objective(labels) == pytest.approx(result.objective, abs=slack)
    assert result.lower_bound <= best + slack
    assert best <= result.objective + slack
    assert result.n_clusters == len(np.unique(labels)) == labels.max() + 1
    if result.status is Status.OPTIMAL:
        assert result.objective == pytest.approx(best, abs=slack)
    assert result.lower_bound >= graph.negative_sum - slack


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_whatever_the_blocks(tmp_path, seed, monkeypatch):
    """Also with several levels, and where what is left at faces fits into no block."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 9, 0.5, "ties" if seed % 2 else "normal")
    capacity = [10**6, 12, 3][seed % 3]
    monkeypatch.setattr(levels, "LEAST_CAPACITY", capacity)
    result = large.solve(
        graph,
        blocks=random_blocks(rng, graph.n),
        folder=tmp_path,
        workers=1,
        gap=0.0,
        prove=seed % 4 < 2,
    )
    check(graph, result, brute_force(graph))


def test_what_is_decided_in_blocks_is_optimal(tmp_path):
    """Two friends in every block, and enemies across: nothing is left to be found out."""
    graph = Graph(6, [(0, 1), (2, 3), (4, 5), (1, 2), (3, 4)], [3.0, 2.0, 4.0, -1.0, -2.0])
    result = large.solve(graph, blocks=3, folder=tmp_path, workers=1, gap=0.0)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.lower_bound == -3.0
    assert result.all_labels().tolist() == [0, 0, 1, 1, 2, 2] or result.n_clusters == 3


def test_a_conflict_across_faces_is_found(tmp_path):
    """A cycle through three blocks: only what is beyond the faces knows that it costs 1."""
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], [2.0, 2.0, 2.0, 2.0, 2.0, -1.0])
    result = large.solve(ring, blocks=3, folder=tmp_path, workers=1, gap=0.0)
    assert result.objective == 0.0
    assert result.lower_bound == pytest.approx(0.0, abs=1e-6)
    assert result.n_clusters == 1


def grid(side, seed):
    rng = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    ends = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:]), (node[:-1, :-1], node[1:, 1:])]
    u, v = (np.concatenate([pair[i].ravel() for pair in ends]) for i in (0, 1))
    return Graph.from_edges(u, v, rng.normal(0.2, 1.0, len(u)))


def test_blocks_of_a_grid_are_nearly_as_good_as_the_whole(tmp_path, monkeypatch):
    graph = grid(30, seed=1)
    best = bdcc_jax.solve(graph).objective
    monkeypatch.setattr(levels, "LEAST_CAPACITY", 1500)
    gaps = []
    for blocks in (1, 3, 7):
        result = large.solve(graph, blocks=blocks, folder=tmp_path / str(blocks), workers=1, gap=0)
        check(graph, result, best)
        gaps.append(result.gap)
    assert gaps[0] < 1e-6
    assert max(gaps) < 0.06
    assert result.history[-1].upper_bound == result.objective


def test_passes_and_proofs_only_raise_the_bound(tmp_path):
    graph = grid(24, seed=2)
    block = (np.arange(graph.n) % 24 // 6) + 4 * (np.arange(graph.n) // (24 * 12))
    bounds = []
    for passes, prove in ((1, False), (2, False), (4, False), (4, True)):
        result = large.solve(
            graph, blocks=block, folder=tmp_path, workers=1, gap=0.0, passes=passes, prove=prove
        )
        bounds.append(result.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("seed", range(3))
def test_every_bound_of_every_pass_holds_by_itself(tmp_path, seed):
    """What is proven of a block, and of a level, is less than the optimum of just that."""
    graph = grid(16, seed)
    blocks = np.arange(graph.n) % 16 // 8 + 2 * (np.arange(graph.n) // 128)
    result = large.solve(graph, blocks=blocks, folder=tmp_path, workers=1, gap=0.0, passes=4)
    files = sorted(result.folder.glob("pass-*/*/prices-*.npz"))
    assert len({file.parents[1] for file in files}) > 1
    for file in files:
        store = file.parent / "store"
        store = large.BlockStore(store) if store.exists() else result.store
        best = bdcc_jax.solve(store.block(int(file.stem.split("-")[1]))).objective
        assert float(np.load(file)["full"]) <= best + 1e-9 * abs(best)


def test_a_pass_that_lowers_the_bound_is_not_taken(tmp_path, monkeypatch):
    graph = grid(12, seed=3)
    before = large.solve(graph, blocks=3, folder=tmp_path / "a", workers=1, gap=0.0, passes=1)
    real = run.Ladder.first

    def worse(self, *arguments, **named):
        real(self, *arguments, **named)
        if named.get("before"):
            for block in self.known[0]:
                self.known[0][block] = {**self.known[0][block], "full": -1e6, "kept": -1e6}

    monkeypatch.setattr(run.Ladder, "first", worse)
    after = large.solve(graph, blocks=3, folder=tmp_path / "b", workers=1, gap=0.0, passes=3)
    assert after.lower_bound == before.lower_bound


def test_weights_of_one_sign(tmp_path):
    for sign, expected in ((1.0, 0.0), (-1.0, -3.0)):
        path = Graph(4, [(0, 1), (1, 2), (2, 3)], [sign] * 3)
        result = large.solve(path, blocks=2, folder=tmp_path / str(sign), workers=1, gap=0.0)
        assert (result.objective, result.status) == (expected, Status.OPTIMAL)


def test_nodes_without_edges_and_empty_blocks(tmp_path):
    writer = large.BlockWriter(tmp_path / "store")
    writer.write_block(0, 3, [0], [1], [1.0])
    writer.write_block(1, 0, [], [], [])
    writer.write_block(2, 2, [], [], [])
    writer.write_face(0, 2, [2], [0], [-2.0])
    writer.finish(3)
    result = large.solve(tmp_path / "store", workers=1, gap=0.0)
    assert result.objective == result.lower_bound == -2.0
    assert [len(result.labels(b)) for b in range(3)] == [3, 0, 2]
    assert result.n_clusters == 4


def test_groups_of_blocks_are_neighbours_and_fit():
    faces = {(i, i + 1): 2 for i in range(9)}
    groups = levels.grouped([10] * 10, faces, 36)
    assert groups == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9,))
    assert levels.grouped([10] * 4, {}, 5) == ((0,), (1,), (2,), (3,))


@pytest.mark.parametrize("seed", range(6))
def test_proofs_of_runs_with_other_memory_are_not_mixed_up(tmp_path, seed):
    """With less memory there is no next level, and proofs are of other weights."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 9, 0.6)
    block = rng.permutation(graph.n) % 2
    store = large.solve(graph, blocks=block, folder=tmp_path, workers=1, time_limit=0).store
    least = BASE + PER_EDGE * max(store.size(0)[1], store.size(1)[1])
    for memory in ("4GB", least, "4GB"):
        result = large.solve(
            graph, blocks=block, folder=tmp_path, workers=1, gap=0.0, prove=True, memory=memory
        )
        check(graph, result, brute_force(graph))


def test_a_result_that_is_done_again_otherwise_is_the_base_of_what_is_above(tmp_path, monkeypatch):
    """As on another machine, which rounds otherwise: no bound may mix what both have found."""
    graph = grid(12, seed=4)
    best = bdcc_jax.solve(graph).objective
    first = large.solve(graph, blocks=3, folder=tmp_path, workers=1, gap=0.0, passes=1)
    real = tasks.relax_and_cluster

    def otherwise(*arguments):
        relaxed, labels = real(*arguments)
        return relaxed._replace(reduced=arguments[0].weights, bound=-1e3, chords=0.0), labels

    for file in first.folder.glob("pass-1/blocks/*-000001.npz"):
        file.unlink()
    monkeypatch.setattr(tasks, "relax_and_cluster", otherwise)
    result = large.solve(graph, blocks=3, folder=tmp_path, workers=1, gap=0.0, passes=1)
    stores = [large.BlockStore(file.parent) for file in first.folder.glob("*/prices-1-*/*/s*.json")]
    assert len({store.digest for store in stores}) == 2
    check(graph, result, best)


def test_groups_that_are_put_together_fit_with_all_their_faces():
    """Blocks with little in them and much between them, as a bad partition has."""
    faces = {(i, j): 1000 for i in range(8) for j in range(i + 1, 8)}
    for group in levels.grouped([10] * 8, faces, 1500):
        between = sum(m for (a, b), m in faces.items() if a in group and b in group)
        assert between + 10 * len(group) <= 1500
    assert levels.grouped([10] * 4, {(0, 1): 5, (2, 3): 5}, 100) == ((0, 1, 2, 3),)
