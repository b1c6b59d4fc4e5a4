"""Graphs that do not fit into memory, or into one machine: block by block, with both bounds."""

from .front import solve
from .result import BlockProgress, LargeResult, Step
from .runners import WorkersLost
from .store import BlockStore, Face, StoreChanged
from .store_writer import BlockWriter

__all__ = [
    "BlockProgress",
    "BlockStore",
    "BlockWriter",
    "Face",
    "LargeResult",
    "Step",
    "StoreChanged",
    "WorkersLost",
    "solve",
]
