"""What :func:`bdcc_jax.large.solve` returns: bounds, and labels in files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import IntArray
from ..base.records import Status, relative_gap
from ..io.files import check_target
from .store import BlockStore


@dataclass(frozen=True)
class Step:
    """What happened: a stage was finished, and these were the bounds.

    Attributes
    ----------
    stage : str
        What was done: blocks, faces, prices, clusters, labels, cost, proofs; and of which level.
    pass_ : int
        Of how many times prices have been improved.
    blocks : int
        How many blocks this was.
    seconds : float
        Since the start.
    lower_bound, upper_bound : float
        As known then.
    """

    stage: str
    pass_: int
    blocks: int
    seconds: float
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class BlockProgress:
    """What a callback sees whenever a block is done.

    Attributes
    ----------
    stage : str
        As in :class:`Step`.
    done, total : int
        Blocks of this stage.
    seconds : float
        Since the start.
    lower_bound, upper_bound : float
        The best so far.
    """

    stage: str
    done: int
    total: int
    seconds: float
    lower_bound: float
    upper_bound: float


Callback = Callable[[BlockProgress], Any]

_CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class LargeResult:
    """A clustering in files, and how good it is.

    Attributes
    ----------
    store : BlockStore
        The graph.
    folder : Path
        Where everything of this run is.
    objective : float
        What the clustering costs, added up from all edges.
    lower_bound : float
        No clustering costs less.
    status : Status
        Why it stopped; only 'optimal' claims that no clustering is better.
    n_clusters : int
        Number of clusters.
    history : tuple of Step
        What happened.
    seconds : float
        How long it took, this time.
    read_labels : callable
        Reads the labels of a block, as :meth:`labels` does; may be sent to other processes.
    """

    store: BlockStore
    folder: Path
    objective: float
    lower_bound: float
    status: Status
    n_clusters: int
    history: tuple[Step, ...]
    seconds: float
    read_labels: Callable[[int], IntArray] = field(repr=False)

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / |objective|``."""
        return relative_gap(self.objective, self.lower_bound)

    def labels(self, block: int) -> IntArray:
        """The clusters of the nodes of a block, ``0 .. n_clusters - 1`` in the whole graph."""
        if not 0 <= block < self.store.n_blocks:
            raise ValueError(f"there is no block {block}: expected 0 .. {self.store.n_blocks - 1}")
        return self.read_labels(block)

    def all_labels(self) -> IntArray:
        """The clusters of all nodes, in the order of the graph that the store was made of."""
        labels = np.empty(self.store.n, np.int64)
        for block in range(self.store.n_blocks):
            labels[self.store.nodes(block)] = self.labels(block)
        return labels

    def write_labels(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the clusters of all nodes as one ``.npy`` file, a block at a time.

        They are in the order of the graph that the store was made of, and never all in memory.
        """
        target = Path(path)
        if target.suffix != ".npy":
            raise ValueError(f"{target}: labels are written as .npy")
        check_target(target, force=force)
        part = target.with_name(f".{target.name}.part")
        try:
            _allocate(part, self.store.n)
            array = np.load(part, mmap_mode="r+")
            for block in range(self.store.n_blocks):
                array[self.store.nodes(block)] = self.labels(block)
            array.flush()
            del array
            part.replace(target)
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        finally:
            part.unlink(missing_ok=True)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the labels, ready for JSON."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "relative_gap": self.gap,
            "n": self.store.n,
            "m": self.store.m,
            "n_blocks": self.store.n_blocks,
            "n_clusters": self.n_clusters,
            "seconds": self.seconds,
        }

    def summary(self) -> str:
        """A few lines that say what came out."""
        lines = {
            "status": f"{self.status}: {self.status.explanation}",
            "objective": f"{self.objective:.10g}",
            "lower bound": f"{self.lower_bound:.10g}",
            "gap": f"{100 * self.gap:.3g} %",
            "clusters": f"{self.n_clusters} of {self.store.n} nodes",
            "blocks": f"{self.store.n_blocks}, {self.store.m} edges",
            "seconds": f"{self.seconds:.1f}",
        }
        return "\n".join(f"{name:<13} {value}" for name, value in lines.items())


def _allocate(path: Path, n: int) -> None:
    """Write an array of zeros: a full disk is an error here, but kills whoever maps the file."""
    header = {"descr": "<i8", "fortran_order": False, "shape": (n,)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, _CHUNK):
            file.write(bytes(8 * min(_CHUNK, n - start)))
        file.flush()
        os.fsync(file.fileno())
