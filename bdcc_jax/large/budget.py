"""How much memory a block takes, and so how large blocks may be and how many run at once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from ..options import as_number
from .store import BlockStore

BASE = 900 * 2**20
"""Bytes that a process takes before it has read anything: Python, JAX, and loops that are compiled
at their first use (a third of this if they are on disk)."""

PER_EDGE = 1600
"""Bytes that dual ascent and clusterings take for an edge of their block, at most; measured."""

PER_EDGE_SOLVE = 4000
"""The same of the ordinary solve, with its LP."""

PER_ROW = 300
"""Bytes that distributing edges to blocks takes for an edge of a chunk."""

BLOCK_NODES = 100_000
"""Nodes of a block, if nobody says: larger ones have fewer faces, smaller ones less to lose."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{letter}I": 2 ** (10 * power) for power, letter in enumerate("KMGT", start=1)}


def as_bytes(memory: object) -> int:
    """An amount of memory in bytes: a number, or text with a unit.

    Examples
    --------
    >>> as_bytes("8GB"), as_bytes("1.5 GiB"), as_bytes(10**9)
    (8000000000, 1610612736, 1000000000)
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", memory, re.IGNORECASE)
        try:
            return int(float(match[1]) * _UNITS[match[2].upper()]) if match else 1 // 0
        except (ValueError, ArithmeticError):
            raise ValueError(
                f"memory must be an amount such as '8GB' or '500MiB', or bytes, not {memory!r}"
            ) from None
    amount = as_number("memory", memory)
    if not 0 < amount < float("inf"):
        raise ValueError(f"memory must be positive, not {memory!r}")
    return int(amount)


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Budget:
    """What may be used.

    Attributes
    ----------
    memory : int
        Bytes, of all processes on this machine together.
    workers : int
        Processes at most.
    """

    memory: int
    workers: int

    @property
    def most_edges(self) -> int:
        """Edges that one process can take."""
        return max(0, self.memory - BASE) // PER_EDGE

    def chunk(self) -> int:
        """Edges that are read at a time."""
        return int(min(2**21, max(10_000, (self.memory - BASE) // PER_ROW)))

    def block_nodes(self, n: int, m: int) -> int:
        """Nodes of a block of a graph of so many nodes and edges.

        Where memory is short, fewer processes with larger blocks: small ones have more faces.
        """
        for workers in range(self.workers, 1, -1):
            each = (self.memory - BASE) // workers - BASE
            fitting = each // PER_EDGE * n // max(1, m)
            if fitting >= BLOCK_NODES // 2:
                return min(BLOCK_NODES, fitting)
        return max(1, min(BLOCK_NODES, self.most_edges * n // max(1, m)))

    def fits_whole(self, m: int) -> bool:
        """Whether the ordinary solve can take so many edges."""
        return self.fits(m, PER_EDGE_SOLVE)

    def at_once(self, edges: int, each: int = PER_EDGE) -> int:
        """Blocks of so many edges that can be in work at the same time, with so many bytes each."""
        # The process that hands out blocks is one more, unless there is only one.
        return max(1, int((self.memory - BASE) // (BASE + each * edges)))

    def fits(self, edges: int, each: int = PER_EDGE) -> bool:
        """Whether one block of so many edges fits."""
        return BASE + each * edges <= self.memory

    def processes(self, store: BlockStore) -> int:
        """Blocks of a store that can be in work at the same time; an error if it is none.

        A single block is for the ordinary solve.
        """
        largest, block = max((store.size(b)[1], b) for b in range(store.n_blocks))
        each = PER_EDGE_SOLVE if store.n_blocks == 1 else PER_EDGE
        if not self.fits(largest, each):
            need = BASE + each * largest
            raise MemoryError(
                f"block {block} has {largest} edges, which take {_said(need)}; memory is "
                f"{_said(self.memory)}: give more, or smaller blocks"
            )
        return min(self.workers, self.at_once(largest), store.n_blocks)


def _said(amount: int) -> str:
    return f"{amount / 1e9:.2f} GB"
