"""Subproblems of real instances, as the solver meets them, pooled over instances and rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.device.device_round import DeviceRound
from bdcc_jax.separation.device.devices import Devices, resolve
from bdcc_jax.separation.device.flow_lps import Problems


class RecordingRound(DeviceRound):
    """Keeps the LPs of every round."""

    def __init__(self, graph: Graph) -> None:
        cover, rng = vertex_cover(graph, "greedy"), np.random.default_rng(0)
        options = Options(engine="pdlp", tau=0.5)
        super().__init__(graph, cover, options, rng, Devices((resolve("cpu"),)))
        self.rounds: list[Problems] = []

    def _problems(self, *arguments: Any) -> Problems:
        self.rounds.append(super()._problems(*arguments))
        return self.rounds[-1]


def subproblems(graph: Graph) -> Problems:
    """All subproblems of the first, the middle and the last round of the LP phase."""
    engine = RecordingRound(graph)
    for _ in cutting_planes(Master(graph.weights), [engine.separate], Clock(None)):
        pass
    rounds = engine.rounds
    return join([rounds[r] for r in sorted({0, len(rounds) // 2, len(rounds) - 1})])


def join(parts: list[Problems]) -> Problems:
    """Several batches as one."""
    return Problems(*map(np.concatenate, zip(*parts, strict=True)))


def some(problems: Problems, chosen: Any) -> Problems:
    """The chosen lanes, by a slice or an index."""
    return Problems(*(array[chosen] for array in problems))


def pool(data: Path | None, families: tuple[str, ...], most: int) -> Problems:
    """Subproblems of the instances of some families, or of pictures that scikit-image brings."""
    found = join([subproblems(graph) for graph in graphs(data, families, most)])
    return some(found, np.random.default_rng(0).permutation(len(found.supply)))


def graphs(data: Path | None, families: tuple[str, ...], most: int) -> list[Graph]:
    """At most so many instances of each family, of all sizes; without data: superpixel graphs."""
    if data is None:
        from bdcc_jax.image import example_picture, superpixel_graph

        names = ("coffee", "astronaut", "chelsea", "rocket")[:most]
        return [superpixel_graph(example_picture(name), 1500)[0] for name in names]
    chosen = []
    for family in families:
        paths = sorted((data / family).glob("*.txt.gz"), key=lambda p: p.stat().st_size)
        paths = [path for path in paths if path.stat().st_size < 100_000]
        chosen += paths[:: max(1, -(-len(paths) // most))]
    return [bdcc_jax.read(path) for path in chosen]
