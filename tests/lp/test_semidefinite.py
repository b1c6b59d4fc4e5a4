"""Semidefinite programs: whatever their iterations arrive at, what they prove is true."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from oracles import all_cuts, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.completion import completed, pair_ids
from bdcc_jax.lp.gram import Gram
from bdcc_jax.lp.semidefinite import SemidefiniteProgram, joined_places
from bdcc_jax.separation.two_partitions import violated_partitions, violated_triangles


def complete_graph(seed: int, n: int, kind: str = "normal") -> Graph:
    return completed(random_graph(np.random.default_rng(seed), n, 0.9, kind))[0]


def improve(program: SemidefiniteProgram, rounds: int) -> None:
    """A few rounds as in the tree."""
    for _ in range(rounds):
        program.iterate(10, Clock(None))
        if program.n > 2:
            ids, x = pair_ids(program.n), program.semidefinite_x
            program.add(violated_triangles(ids, x, 30, 0.01)[0])
            program.add(violated_partitions(ids, x, 1, 30))


@pytest.mark.parametrize("seed", range(20))
def test_every_clustering_satisfies_the_inequality_of_any_matrix(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    factor = rng.normal(size=(n, int(rng.integers(1, 5)))) * 10.0 ** rng.integers(-30, 30)
    gram = Gram.near(factor)
    z, (u, v) = gram.matrix(), np.triu_indices(n, 1)
    exactly = [
        [Fraction(4) ** gram.exponent * sum(a * b for a, b in zip(r, s, strict=True)) for s in rows]
        for rows in [gram.factor.tolist()]
        for r in rows
    ]
    assert [[Fraction(entry) for entry in row] for row in z.tolist()] == exactly
    total = sum(map(sum, exactly))
    assert total <= Fraction(gram.total) <= total * Fraction(1 + 2**-50)
    assert np.abs(z - factor @ factor.T).max() <= 1e-5 * np.abs(z).max()
    cuts = all_cuts(completed(Graph(n, [], []))[0])
    pairs = [exactly[i][j] for i, j in zip(u, v, strict=True)]
    for cut in cuts.tolist():
        assert 2 * sum(p for p, is_cut in zip(pairs, cut, strict=True) if is_cut) <= total


def test_no_columns_are_no_inequality():
    for gram in (Gram.none(3), Gram.near(np.zeros((3, 2))), Gram.near(np.zeros((3, 0)))):
        assert not gram.matrix().any()
        assert gram.total == 0.0


@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize("scale", [1.0, 1e9, 2.0**-200])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_whatever_was_decided(seed, scale, kind):
    rng = np.random.default_rng(seed)
    graph = complete_graph(seed, int(rng.integers(3, 9)), kind)
    weights, cuts = graph.weights * scale, all_cuts(graph)
    place, program = np.arange(graph.n), SemidefiniteProgram.of(graph.n, weights)
    allowed = np.ones(len(cuts), dtype=bool)
    for _ in range(5):
        improve(program, int(rng.integers(1, 4)))
        best = (cuts[allowed] @ weights).min(initial=inf)
        proven = program.decided() or program.prove()
        assert proven.bound <= best + 1e-12 * np.abs(weights).sum()
        if program.apart.all():
            assert proven.bound >= best - 1e-12 * np.abs(weights).sum()
            break
        pair = int(rng.choice(np.flatnonzero(~program.apart)))
        u, v = (int(ends[pair]) for ends in np.triu_indices(program.n, 1))
        edge = int(np.argmax((np.sort(place[graph.edges], axis=1) == [u, v]).all(axis=1)))
        if rng.random() < 0.5:
            allowed &= cuts[:, edge]
            program = program.with_apart(pair)
        else:
            allowed &= ~cuts[:, edge]
            place = joined_places(program.n, u, v)[place]
            program = program.with_joined(pair)


def test_bounds_come_near_to_the_optimum():
    """Together with rows: a complete graph of 9 nodes is closed, or nearly."""
    graph = complete_graph(3, 9)
    program = SemidefiniteProgram.of(graph.n, graph.weights)
    improve(program, 60)
    optimum = (all_cuts(graph) @ graph.weights).min()
    assert optimum - 0.02 * abs(optimum) <= program.prove().bound <= optimum + 1e-12


def test_a_half_leaves_the_other_as_it_is():
    graph = complete_graph(5, 8)
    program = SemidefiniteProgram.of(graph.n, graph.weights)
    improve(program, 3)
    before = program.prove().bound
    for half in (program.with_apart(0), program.with_joined(0)):
        improve(half, 3)
    assert program.prove().bound == before


def test_it_goes_on_from_what_was_proven():
    graph = complete_graph(6, 8)
    program = SemidefiniteProgram.of(graph.n, graph.weights)
    improve(program, 5)
    proven = program.prove()
    again = SemidefiniteProgram.of(graph.n, graph.weights)
    again.start_from(proven.rows, proven.multipliers, proven.gram)
    assert again.prove().bound == pytest.approx(proven.bound, rel=1e-9)
