"""Who finds the rows that a solution of the master violates."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..base import compilation_cache
from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import Cover
from ..instance.graph import Graph
from ..options import Options
from .device.device_packing import DevicePackingEngine
from .device.device_round import DeviceRound
from .device.devices import Devices, Host, resolve
from .packing import PackingEngine
from .separation import Separation


class Engine(Protocol):
    """Lines 6 to 13 of Algorithm 1."""

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, some whenever x violates a cycle inequality."""


def choose_engine(options: Options, device: Devices | Host) -> str:
    """The name of the engine that the options ask for; 'auto' is explained in Options."""
    if options.engine != "auto":
        return options.engine
    packs = options.rows == "split" and options.tau is None
    if device.platform == "cpu":
        return "packing" if packs else "reference"
    return "device_packing" if packs else "pdlp"


def batched_engine(
    choice: str,
    graph: Graph,
    cover: Cover,
    options: Options,
    rng: np.random.Generator,
    device: Devices | Host,
) -> Engine:
    """An engine that takes all roots at once: 'packing', 'device_packing' or 'pdlp'."""
    if choice == "packing":
        return PackingEngine(graph, cover, options.ball_size)
    compilation_cache.enable()
    where = Devices((resolve("cpu"),), options.memory) if isinstance(device, Host) else device
    if choice == "device_packing":
        first, memory = where.devices[0], where.budget // 2
        return DevicePackingEngine(graph, cover, options.ball_size, first, memory)
    return DeviceRound(graph, cover, options, rng, where)
