"""What XLA has made of a program: kernels and bytes, by loop, read from its optimised text.

Every instruction that is not only a name for something is one kernel. It reads its operands and
writes its results, each once; what it gathers or scatters moves in sectors of 32 bytes at worst,
and at best comes from a cache. Both are counted: the truth is in between.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

SECTOR = 32
"""Bytes that a card reads at least."""

TILE = 12
"""Two to this power entries, of three numbers at most, are sorted in the memory of one core."""

SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2, "s64": 8, "u64": 8,
         "f64": 8, "token": 0}  # fmt: skip
"""Bytes of a number; others have four."""

NO_KERNEL = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all",
             "partition-id", "while", "conditional", "call", "copy-done", "async-done"}  # fmt: skip

COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \([^\n]*\{\n(.*?)^\}", re.M | re.S)
INSTRUCTION = re.compile(r"^  (?:ROOT )?%?([\w.\-]+) = (.+?) ([a-z][\w\-]*)\((.*)$", re.M)
ARRAY = re.compile(r"\b([a-z]+\d*)\[([\d,]*)\]")


class Instruction(NamedTuple):
    """A line of the text."""

    name: str
    shape: str
    kind: str
    rest: str

    @property
    def operands(self) -> list[str]:
        """Names of what it takes."""
        return re.findall(r"%([\w.\-]+)", self.rest.partition(")")[0])

    def called(self, what: str) -> str:
        """The name of the computation that is its body, condition, ..."""
        match = re.search(rf"\b{what}=%([\w.\-]+)", self.rest)
        return match[1] if match else ""


@dataclass(frozen=True)
class Cost:
    """What one turn of a loop costs, without the loops in it: launches, and bytes.

    ``moved`` are the bytes of operands and results, each once; ``sectors`` the same with a sector
    for everything that is gathered or scattered. Passes of ``sorts`` are among the ``kernels``.
    """

    kernels: int = 0
    moved: int = 0
    sectors: int = 0
    sorts: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Loop:
    """A loop, or the program itself; ``turns`` is None if the data say how many."""

    turns: int | None
    turn: Cost
    inner: tuple[Loop, ...]

    @property
    def loops(self) -> list[Loop]:
        """All loops in it, from the outside to the inside."""
        return [each for loop in self.inner for each in (loop, *loop.loops)]


class Program:
    """A compiled program, by its text.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> twice = jax.jit(lambda x: 2 * x).lower(jnp.ones(1000)).compile()
    >>> program = Program(twice.as_text())
    >>> program.whole.turn
    Cost(kernels=1, moved=8000, sectors=8000, sorts=0)
    >>> program.count("sort")
    0
    """

    def __init__(self, text: str) -> None:
        self._parts: dict[str, list[Instruction]] = {}
        self._entry = ""
        for entry, name, body in COMPUTATION.findall(text):
            self._parts[name] = [Instruction(*found) for found in INSTRUCTION.findall(body)]
            self._entry = name if entry else self._entry

    def count(self, kind: str) -> int:
        """How many instructions of a kind there are anywhere, such as 'sort' or 'custom-call'."""
        return sum(each.kind == kind for part in self._parts.values() for each in part)

    @property
    def targets(self) -> list[str]:
        """What custom calls call: libraries, or the host."""
        calls = [e for part in self._parts.values() for e in part if e.kind == "custom-call"]
        return [match[1] for e in calls if (match := re.search(r'target="([^"]*)"', e.rest))]

    @cached_property
    def whole(self) -> Loop:
        """The program with all of its loops."""
        return self._loop(1, self._entry)

    def _loop(self, turns: int | None, *names: str) -> Loop:
        """Names are those of computations that a turn runs once."""
        cost, inner = Cost(), []
        for name in names:
            shapes = {each.name: each.shape for each in self._parts[name]}
            for each in self._parts[name]:
                if each.kind == "while":
                    known = re.search(r'known_trip_count":\{"n":"(\d+)"', each.rest)
                    times = int(known[1]) if known else None
                    inner.append(self._loop(times, each.called("body"), each.called("condition")))
                elif each.kind == "conditional":
                    # The most expensive branch, and everything else nothing.
                    branches = [self._loop(1, branch) for branch in self._branches(each)]
                    dear = max(branches, key=lambda branch: branch.turn.kernels)
                    cost, inner = cost + dear.turn, [*inner, *dear.inner]
                elif each.kind == "call":
                    called = self._loop(1, each.called("to_apply"))
                    cost, inner = cost + called.turn, [*inner, *called.inner]
                elif each.kind not in NO_KERNEL:
                    cost += self._kernel(each, shapes)
        return Loop(turns, cost, tuple(inner))

    def _branches(self, each: Instruction) -> list[str]:
        listed = re.search(r"branch_computations=\{([^}]*)\}", each.rest)
        if listed:
            return re.findall(r"%([\w.\-]+)", listed[1])
        return [each.called("true_computation"), each.called("false_computation")]

    def _kernel(self, each: Instruction, shapes: dict[str, str]) -> Cost:
        inside = self._parts.get(each.called("calls"), [])
        taken = [size_of(shapes.get(name, "")) for name in each.operands]
        moved = sectors = size_of(each.shape) + sum(taken)
        if inside:
            shapes = {one.name: one.shape for one in inside}
            parameters = [one for one in inside if one.kind == "parameter"]
            parameters.sort(key=lambda one: int(one.rest.partition(")")[0]))
            held = {one.name: size for one, size in zip(parameters, taken, strict=True)}
        else:
            inside, held = [each], dict(zip(each.operands, taken, strict=True))
        gathered: dict[str, int] = {}
        for one in inside:
            if one.kind == "bitcast" and one.operands[0] in held:
                held[one.name] = held[one.operands[0]]
            elif one.kind == "gather":
                table = one.operands[0]
                gathered[table] = gathered.get(table, 0) + _gathered(one)
            elif one.kind == "scatter":
                updates = one.operands[len(one.operands) // 2 + 1 :]
                sectors += 2 * sum(_entries(shapes.get(name, "")) * SECTOR for name in updates)
            elif one.kind == "dynamic-slice" and one.operands[0] in held:
                saved = size_of(shapes[one.operands[0]]) - size_of(one.shape)
                moved, sectors = moved - saved, sectors - saved
            elif one.kind == "dynamic-update-slice" and one.operands[0] in held:
                # In place: the rest is neither read nor written.
                saved = 2 * (size_of(one.shape) - size_of(shapes[one.operands[1]]))
                moved, sectors = moved - saved, sectors - saved
        for table, read in gathered.items():
            size = held.get(table, 0)
            moved += min(size, read) - size
            sectors += read - size
        if any(one.kind == "sort" for one in inside):
            passes = sort_passes(_entries(each.shape))
            return Cost(passes, passes * moved, passes * sectors, 1)
        return Cost(1, max(moved, 0), max(sectors, 0))


def size_of(shape: str) -> int:
    """Bytes of an array or a tuple of arrays, such as ``(f32[4,2]{1,0}, s16[3])``."""
    return sum(
        SIZES.get(kind, 4) * prod(int(n) for n in numbers.split(",") if n)
        for kind, numbers in ARRAY.findall(shape)
    )


def sort_passes(count: int) -> int:
    """Kernels of XLA's bitonic sort: one for every distance that does not fit into a tile.

    With tiles of ``2**t`` numbers and ``2**s`` in all, stage i has ``i - t`` such distances and one
    kernel for all smaller ones.
    """
    above = max(0, (count - 1).bit_length() - TILE)
    return 1 + above + above * (above + 1) // 2


def _entries(shape: str) -> int:
    found = ARRAY.search(shape)
    return prod(int(n) for n in found[2].split(",") if n) if found else 0


def _gathered(each: Instruction) -> int:
    """Bytes in sectors: one slice an index."""
    slices = re.search(r"slice_sizes=\{([\d,]*)\}", each.rest)
    entries = _entries(each.shape)
    together = prod(int(n) for n in slices[1].split(",") if n) if slices else 1
    width = size_of(each.shape) // max(1, entries) * together
    return entries // max(1, together) * -(-width // SECTOR) * SECTOR
