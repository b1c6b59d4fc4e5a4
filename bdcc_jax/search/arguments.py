"""What a solve may be asked for: checked before any work starts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.labels import canonical_labels
from ..combinations import check_together
from ..instance.graph import Graph
from ..options import Options, as_amount, as_count
from ..separation.device import devices
from ..separation.device.devices import DeviceChoice, Devices, Host

DEFAULT = Options()


class Arguments(NamedTuple):
    """What a solve is asked for, checked, and in plain Python numbers."""

    options: Options
    device: Devices | Host
    time_limit: float | None
    gap: float
    seed: int


def check_arguments(
    device: DeviceChoice,
    time_limit: float | None,
    gap: float,
    seed: int,
    options: Options | None,
    callback: object,
    features: Sequence[str] = (),
) -> Arguments:
    """Refuse what a solve, of an instance with some features, cannot be asked for."""
    options = DEFAULT if options is None else options
    if not isinstance(options, Options):
        raise ValueError(f"options must be an Options object, not {options!r}")
    check_together([*features, *options.features])
    where = devices.place(device, options.engine, options.memory)
    if options.engine in ("packing", "reference") and where.platform != "cpu":
        raise ValueError(f"engine {options.engine!r} runs on the CPU only, not on {device}")
    if time_limit is not None:
        time_limit = as_amount("time_limit", time_limit)
    gap, seed = as_amount("gap", gap), as_count("seed", seed, at_least=0)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}")
    return Arguments(options, where, time_limit, gap, seed)


def check_initial(graph: Graph, initial: ArrayLike) -> IntArray:
    """Refuse what is no clustering of the graph.

    Examples
    --------
    >>> check_initial(Graph(3, [(0, 1)], [1.0]), [7, 7, 2]).tolist()
    [0, 0, 1]
    """
    labels = np.asarray(initial)
    if labels.shape != (graph.n,):
        raise ValueError(
            f"initial must have one label a node, shape ({graph.n},), not {labels.shape}"
        )
    if labels.dtype.kind not in "biu":
        raise ValueError(f"initial must be whole numbers, one label a node, not {labels.dtype}")
    return canonical_labels(labels.astype(np.int64))
