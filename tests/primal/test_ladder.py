"""Successive halving of temperatures."""

import pytest

from bdcc_jax import Graph
from bdcc_jax.primal.evolution import Evolution
from bdcc_jax.primal.ladder import FEW_NODES, HOTTEST, RUNGS, USUAL, Ladder
from bdcc_jax.primal.randomness import new_state


@pytest.mark.parametrize("best", [HOTTEST * 0.5**i for i in range(RUNGS)])
def test_the_best_temperature_is_left_whichever_it_is(best):
    ladder, random, runs = Ladder(FEW_NODES), new_state(0), 0
    while not ladder.climbed:
        hot = ladder.draw(random)
        ladder.tell(max(hot / best, best / hot))
        runs += 1
    assert best in ladder.rungs
    assert runs == RUNGS + RUNGS // 2
    hot, cold = ladder.rungs
    for _ in range(100):
        assert cold <= ladder.draw(random) <= hot


def test_runs_get_longer_as_rungs_fall_away():
    ladder, random, lengths = Ladder(FEW_NODES), new_state(0), []
    while not ladder.climbed:
        lengths.append(ladder.longer)
        ladder.tell(ladder.draw(random))
    assert lengths == [1] * RUNGS + [2] * (RUNGS // 2)
    assert ladder.longer == 4


def test_small_graphs_need_no_ladder():
    ladder = Ladder(FEW_NODES - 1)
    assert ladder.climbed
    assert min(USUAL) <= ladder.draw(new_state(0)) <= max(USUAL)


def test_the_scale_of_the_weights_does_not_matter():
    """A temperature of its own would suit one of the two at most."""
    pairs = [(i, j) for i in range(50) for j in range(i)]
    weights = [((7 * i + 3 * j * j) % 19) - 9.0 for i, j in pairs]
    found = []
    for unit in (2.0**-20, 1.0, 2.0**20):
        graph = Graph(50, pairs, [unit * w for w in weights])
        search = Evolution(graph, range(50), seed=1)
        search.run(300_000)
        found.append((search.labels.tolist(), search.cost / unit))
    assert found[0] == found[1] == found[2]
