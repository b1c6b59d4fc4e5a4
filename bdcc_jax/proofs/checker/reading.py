"""What a certificate says, read without trust; how much work it asks for."""

from fractions import Fraction
from math import inf
from typing import Any


class Rejected(ValueError):
    """The certificate does not prove what it claims, was changed, or is of another instance."""


def require(condition: bool, otherwise: str) -> None:
    """Reject the certificate unless a condition holds."""
    if not condition:
        raise Rejected(otherwise)


def ids(said: Any, below: int, size: int | None = None, least: int = 0) -> list[int]:
    """The door for all ids: so many numbers, or else different ones."""
    valid = type(said) is list and all(type(x) is int and least <= x < below for x in said)
    valid = valid and (len({*said}) == len(said) if size is None else len(said) == size)
    require(valid, f"not {size or 'different'} numbers from {least} to {below - 1}: {said!a:.80}")
    return list(said)


def number(said: Any, least: float = -inf) -> Fraction:
    """The door for all other numbers."""
    require(type(said) is float and said >= least, f"no number from {least} on: {said!a:.80}")
    return Fraction(said)


class Account:
    """What is reckoned in: amounts are multiples of ``2**-shift``, and so many steps are left."""

    def __init__(self, shift: int, steps: float = inf) -> None:
        self.shift, self.steps = shift, steps

    def amount(self, said: Any) -> int:
        """A number that is not negative, rounded down to a multiple of the unit."""
        return int(number(said, 0.0) * 2**self.shift)

    def pay(self, steps: float) -> None:
        """Take steps before they are made."""
        self.steps -= steps
        require(self.steps >= 0, "the proof asks for more work than its length allows")
