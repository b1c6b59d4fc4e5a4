"""Rounds of the engine 'pdlp' on the CPU: what their tests share."""

import jax
import numpy as np

from bdcc_jax import Options
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device.balls import NODES
from bdcc_jax.separation.device.device_round import DeviceRound
from bdcc_jax.separation.device.devices import Devices

CPU = jax.devices("cpu")[0]


def fractional(rng, graph):
    return np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 4 / 2)


def engine_for(graph, options=None, seed=0, where=None):
    cover = vertex_cover(graph, "greedy")
    options = options or Options.paper(engine="pdlp")
    return DeviceRound(graph, cover, options, np.random.default_rng(seed), where or Devices((CPU,)))


def batch_of(graph, x, options=None):
    """The balls of a round, and their LPs."""
    engine, taken = engine_for(graph, options), []
    original = engine._problems

    def spy(balls, x):
        taken.append((balls, original(balls, x)))
        return taken[0][1]

    engine._problems = spy
    engine.separate(x, Clock(None))
    return taken[0]


def edges_of(balls, problems, lane):
    """(tail, head, cost, capacity, price) of the edges of a ball, each once."""
    own = np.concatenate([np.arange(NODES), balls.owner[lane]])
    found = {}
    for w, r in zip(*np.nonzero(balls.edge[lane] >= 0), strict=True):
        ends = own[r], balls.neighbor[lane, w, r]
        numbers = (problems.cost, problems.capacity, problems.price)
        data = (*sorted(ends), *(float(array[lane, w, r]) for array in numbers))
        assert found.setdefault(balls.edge[lane, w, r], data) == data  # the same from both ends
    return list(found.values())
