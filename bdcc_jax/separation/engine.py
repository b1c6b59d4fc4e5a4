"""Who finds the rows that a solution of the master violates."""

from typing import Protocol

import numpy as np

from ..base import compilation_cache
from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import Cover
from ..instance.graph import Graph
from ..options import Options
from .device.device_round import DeviceRound
from .device.devices import Devices, Host, resolve
from .packing import PackingEngine
from .paper.dijkstra import DijkstraFinder
from .paper.magnanti_wong import MagnantiWong
from .paper.paper_round import PaperRound
from .paper.reference import ReferenceSolver
from .separation import Separation


class Engine(Protocol):
    """Lines 6 to 13 of Algorithm 1."""

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, some whenever x violates a cycle inequality."""


def choose_engine(options: Options, device: Devices | Host) -> str:
    """The name of the engine that the options ask for; this is the rule of 'auto'.

    Split rows are 'packing', which runs on the host, with a GPU too. For a violated root it takes
    17 to 190 us in the rounds that have many. A round of 'pdlp' takes the host 60 to 150 us for
    each (balls, rows), before the card takes 5 ms and 12 us for each, by the model of an A100: no
    number of roots makes up for that (benchmarks/RESULTS.md has the figures). What a GPU is given
    by default is the dual ascent before the LP.

    With tau or aggregated rows every root has an LP or two, which 'reference' solves one after
    another: there the batch is 'pdlp' on a GPU.
    """
    if options.engine != "auto":
        return options.engine
    if options.rows == "split" and options.tau is None:
        return "packing"
    return "reference" if device.platform == "cpu" else "pdlp"


def make_engine(
    graph: Graph,
    cover: Cover,
    options: Options,
    seed: int,
    device: Devices | Host,
) -> Engine:
    """The engine that the options ask for, on a device; 'auto' is explained in Options."""
    choice = choose_engine(options, device)
    if choice == "packing":
        return PackingEngine(graph, cover, options.ball_size)
    if choice == "reference":
        return _paper_round(graph, cover, options, seed)
    compilation_cache.enable()
    where = Devices((resolve("cpu"),), options.memory) if isinstance(device, Host) else device
    return DeviceRound(graph, cover, options, np.random.default_rng(seed), where)


def _paper_round(graph: Graph, cover: Cover, options: Options, seed: int) -> PaperRound:
    variant = None
    if options.tau is not None:
        variant = MagnantiWong(options.tau, options.direction, np.random.default_rng(seed))
    finder = DijkstraFinder(graph, cover, options.ball_size)
    return PaperRound(finder, ReferenceSolver(graph), options.rows, variant)
