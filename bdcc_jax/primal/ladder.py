"""At which temperature annealing should begin: found by successive halving.

What is too hot forgets where it was, what is too cold is stuck at once, and which is which differs
by a factor of 100 between instances. So short runs at a ladder of temperatures are compared, the
better half of them again with runs twice as long, until two are left.
"""

from .randomness import State, uniform

HOTTEST, RUNGS = 1.0, 8
"""The first ladder: every temperature is half the one before."""

LEFT = 2
"""So many rungs are left in the end."""

USUAL, FEW_NODES = (0.5, 0.02), 40
"""Those that are left at once where there are fewer nodes: any temperature will do there."""


class Ladder:
    """The temperatures that are still in question, from the hottest to the coldest.

    Parameters
    ----------
    n : int
        Number of nodes of the instance.

    Attributes
    ----------
    rungs : tuple of float
        Those temperatures, in a unit of the caller's.
    longer : int
        How much longer a run should be than the first ones.

    Examples
    --------
    >>> from .randomness import new_state
    >>> ladder, random = Ladder(100), new_state(0)
    >>> while not ladder.climbed:
    ...     temperature = ladder.draw(random)
    ...     ladder.tell(abs(temperature - 0.06))
    >>> ladder.rungs, ladder.longer
    ((0.0625, 0.03125), 4)
    """

    def __init__(self, n: int) -> None:
        self.rungs: tuple[float, ...] = tuple(HOTTEST * 0.5**i for i in range(RUNGS))
        if n < FEW_NODES:
            self.rungs = USUAL
        self.longer = 1
        self._costs: list[float] = []

    @property
    def climbed(self) -> bool:
        """Whether there is nothing left to compare."""
        return len(self.rungs) == LEFT

    def draw(self, random: State, *, wider: float = 1.0) -> float:
        """The next temperature to try; in the end any between the last two, or so far beyond."""
        if not self.climbed:
            return self.rungs[len(self._costs)]
        hot, cold = wider * self.rungs[0], self.rungs[1] / wider
        return float(cold * (hot / cold) ** uniform(random))

    def tell(self, cost: float) -> None:
        """What the clustering costs that the last temperature led to; not once it is climbed."""
        self._costs.append(cost)
        if len(self._costs) == len(self.rungs):
            ranked = sorted(range(len(self.rungs)), key=self._costs.__getitem__)
            self.rungs = tuple(self.rungs[i] for i in sorted(ranked[: len(ranked) // 2]))
            self.longer, self._costs = 2 * self.longer, []
