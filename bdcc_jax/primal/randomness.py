"""Random numbers for compiled loops: the same on every machine, from a state of one word."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.compiled import compiled

State = NDArray[np.uint64]


def new_state(seed: int) -> State:
    """Where to begin; another seed begins elsewhere.

    Examples
    --------
    >>> state = new_state(0)
    >>> 0 <= uniform(state) < 1 and uniform(state) != uniform(state)
    True
    """
    return np.array([_first_word(seed)], dtype=np.uint64)


@cache
def _first_word(seed: int) -> int:
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    return word | 1  # xorshift never leaves 0


@compiled
def _next(state: State) -> Any:
    """Marsaglia's xorshift, and a multiplication that makes its low bits as good as the others."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@compiled
def uniform(state: State) -> float:
    """A number in [0, 1)."""
    return np.float64(_next(state) >> np.uint64(11)) * 2.0**-53


@compiled
def below(state: State, n: int) -> int:
    """One of 0 .. n - 1."""
    return int(uniform(state) * n)


@compiled
def bell(state: State) -> float:
    """Nearly normal, mean 0 and variance 1: the sum of four uniform numbers of 16 bits."""
    word = _next(state)
    total = 0.0
    for _ in range(4):
        total += np.float64(word & np.uint64(0xFFFF))
        word >>= np.uint64(16)
    return (total * 2.0**-16 - 2.0) * 1.7320508075688772
