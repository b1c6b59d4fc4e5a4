"""How long a compiled program takes on a card: a model, from its kernels and bytes.

A kernel takes LAUNCH seconds and the bytes that it moves by the bandwidth of the card; where the
data say when a loop ends, the host reads that every turn. Bytes are counted twice: everything once,
and with a sector for all that is gathered or scattered. The first is what a perfect cache would
make of it, the second what none at all would. No card has been asked yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from .program import Cost, Loop

LAUNCH, SYNC = 3e-6, 10e-6
"""Seconds for a kernel that does nothing, and for the host to read a number."""


@dataclass(frozen=True)
class Span:
    """Seconds by the model: with a perfect cache, and with none."""

    least: float
    most: float

    def __add__(self, other: Span) -> Span:
        return Span(self.least + other.least, self.most + other.most)

    def __mul__(self, times: float) -> Span:
        return Span(times * self.least, times * self.most)

    def __str__(self) -> str:
        return f"{1e3 * self.least:.3g} to {1e3 * self.most:.3g} ms"


def of_turn(cost: Cost, bandwidth: float) -> Span:
    """Seconds of one turn, without the loops in it.

    Examples
    --------
    >>> of_turn(Cost(kernels=2, moved=2_000_000, sectors=4_000_000), 2e12)
    Span(least=7e-06, most=8e-06)
    """
    launches = LAUNCH * cost.kernels
    return Span(launches + cost.moved / bandwidth, launches + cost.sectors / bandwidth)


def of_program(whole: Loop, turns: tuple[int, ...], bandwidth: float) -> Span:
    """Seconds of a call.

    Parameters
    ----------
    whole : Loop
        The program.
    turns : tuple of int
        Of every loop that ends when the data say so, in the order of ``whole.loops``.
    bandwidth : float
        Bytes a second.

    Examples
    --------
    >>> loop = Loop(None, Cost(kernels=1), ())
    >>> round(of_program(Loop(1, Cost(kernels=2), (loop,)), (10,), 2e12).least, 9)
    0.000136
    """
    left = list(turns)

    def once(loop: Loop) -> Span:
        total = of_turn(loop.turn, bandwidth)
        for inner in loop.inner:
            known = inner.turns
            times = left.pop(0) if known is None else known
            turn = once(inner) + (Span(SYNC, SYNC) if known is None else Span(0.0, 0.0))
            total += turn * times
        return total

    return once(whole)
