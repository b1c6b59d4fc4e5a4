"""What a solve returns, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .base.arrays import BoolArray, IntArray
from .base.records import Failure, Phase, Progress, Round, Status, relative_gap
from .combinations import check_together
from .instance.graph import Graph
from .options import Options, as_count
from .presolve import Removed
from .proofs.certificate import Proof, Relaxation, certificate
from .uniqueness import Again, Alternatives, alternatives, margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .show.plots import Fill

__all__ = ["Failure", "Phase", "Progress", "Result", "Round", "Status", "relative_gap"]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The best clustering found, with a bound on how much better any other can be.

    Attributes
    ----------
    graph : Graph
        The instance as it was solved; ``cut`` is in the order of its edges.
    labels : ndarray of int, shape (n,)
        The cluster of every node, numbered by first appearance.
    objective : float
        Sum of the weights of the cut edges, and of what the classes cost if there are any;
        recomputed from ``labels``.
    lower_bound : float
        No clustering has a smaller objective. It rests on HiGHS' branch and bound only if that was
        asked for and the solve ended early; then the certificate says so.
    status : Status
        Why the solve stopped; compares equal to its name, as in ``status == "optimal"``.
    tolerance : float
        Proven: this clustering costs at most ``tolerance`` more than an optimum. It is summed up
        where it arises, so that a heavy weight elsewhere does not blur it as it blurs ``gap``.
    history : tuple of Round
        One record of the first clustering, one a round, and some of clusterings in between.
    timings : dict
        Seconds spent in each part, on compiling loops if there was any, and in total.
    removed : Removed or None
        What presolve took away; None if there was none.
    proof : Proof
        Why the lower bound holds; ``certificate`` writes it out.
    exponent : int
        Numbers in the proof are in units of 2 to minus this: 0, unless all weights are very small.
    initial_objective : float or None
        What the clustering costs that the solve was given to start from, if it was given one.
    again : callable
        :func:`bdcc_jax.solve` with the same options and seed.
    """

    graph: Graph
    labels: IntArray
    objective: float
    lower_bound: float
    status: Status
    tolerance: float
    history: tuple[Round, ...]
    timings: dict[str, float]
    options: Options
    device: str
    removed: Removed | None = None
    proof: Proof | None = field(default=None, repr=False)
    exponent: int = 0
    initial_objective: float | None = None
    again: Callable[..., Result] | None = field(default=None, repr=False)

    @property
    def cut(self) -> BoolArray:
        """Which edges of ``graph.edges`` are cut."""
        return self.graph.cut(self.labels)

    @property
    def classes(self) -> IntArray | None:
        """The class of every node, that of its cluster; None if the instance has no classes."""
        return self.graph.classes(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def disagreement(self) -> float:
        """The paper's CC_1 value: attractive weight cut plus repulsive weight kept."""
        return self.graph.disagreement(self.labels)

    @property
    def gap(self) -> float:
        """``objective - lower_bound``."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """``gap`` over ``|objective|``; see :func:`relative_gap`."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def initial_gap(self) -> float | None:
        """How much less than the given clustering any other can cost at most; None without one."""
        if self.initial_objective is None:
            return None
        saved = self.initial_objective - self.objective
        return max(0.0, min(self.initial_objective - self.lower_bound, saved + self.tolerance))

    @property
    def clusters(self) -> dict[Hashable, int]:
        """The cluster of every node by its name (its id where there are no names)."""
        names = self.graph.names or range(self.graph.n)
        return dict(zip(names, self.labels.tolist(), strict=True))

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What :func:`bdcc_jax.verify` needs to prove both bounds anew, ready for JSON."""
        return certificate(
            self.graph,
            self.labels,
            self.proof or Relaxation.trivial(self.graph),
            status=str(self.status),
            objective=self.objective,
            lower_bound=self.lower_bound,
            tolerance=self.tolerance,
            exponent=self.exponent,
        )

    def alternatives(self, limit: int = 10, *, time_limit: float | None = None) -> Alternatives:
        """Other optimal clusterings, or the proof that there is none.

        Clusterings that cut the same edges are the same. It takes one solve to see that there is
        no other one, and about two for every other one.

        Parameters
        ----------
        limit : int
            How many to look for at most.
        time_limit : float, optional
            Seconds for each of the solves.

        Raises
        ------
        ValueError
            The clustering of this result is not proven to be optimal.

        Examples
        --------
        >>> import bdcc_jax
        >>> square = ([0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, 1.0, -1.0])
        >>> others = bdcc_jax.solve(square).alternatives()
        >>> len(others), others.complete
        (3, True)
        >>> bdcc_jax.solve(([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0])).alternatives().unique
        True
        """
        limit = as_count("limit", limit, at_least=1)
        check_together([*self.graph.features, "alternatives"])
        if self.status != Status.OPTIMAL:
            raise ValueError(f"alternatives need an optimal result; this one is {self.status!s}")
        return alternatives(self.graph, self.labels, limit, self._solver(time_limit))

    def margin(self, pair: tuple[Hashable, Hashable], *, time_limit: float | None = None) -> float:
        """What it costs at least to decide otherwise on a pair of nodes.

        The cost of the best clustering that separates the pair, if this one has it in one cluster,
        or that joins it, minus the objective: a lower bound, and the value itself if the solve
        that this takes ends with a proof. 0: it may be as good. Infinite: constraints forbid it.

        Parameters
        ----------
        pair : two nodes
            By id or by name; they need not be an edge.
        time_limit : float, optional
            Seconds for the solve.

        Examples
        --------
        >>> import bdcc_jax
        >>> result = bdcc_jax.solve(([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0]))
        >>> result.labels.tolist(), result.margin((0, 1)), result.margin((1, 2))
        ([0, 0, 0], 1.0, 2.0)
        """
        check_together([*self.graph.features, "margin"])
        u, v = self.graph.nodes_of([pair], "pair")[0].tolist()
        if u == v:
            raise ValueError(f"pair must be two different nodes, not {pair!r}")
        return margin(self.graph, self.labels, (u, v), self._solver(time_limit))

    def _solver(self, time_limit: float | None) -> Again:
        if self.graph.lifted is not None:
            raise ValueError("alternatives and margins are not supported with lifted edges")
        if (again := self.again) is None:
            raise ValueError("this result was not made by solve, and cannot be solved again")
        return lambda graph, start: again(graph, initial=start, time_limit=time_limit)

    def summary(self) -> str:
        """A few lines to print."""
        return "\n".join(f"{name:<13} {value}" for name, value in self._facts().items())

    def _facts(self) -> dict[str, str]:
        rounds = [record for record in self.history if record.phase in ("lp", "ilp")]
        given = {}
        if self.initial_objective is not None:
            given["initial"] = (
                f"{self.initial_objective:.10g}, which can be improved "
                f"by {self.initial_objective - self.objective:.3g} at least "
                f"and {self.initial_gap:.3g} at most"
            )
        calls = sum(record.device_calls for record in self.history)
        on_device = sum(record.device_seconds for record in self.history)
        return {
            "status": f"{self.status} ({self.status.explanation})",
            "objective": f"{self.objective:.10g}",
            "lower bound": f"{self.lower_bound:.10g}",
            **given,
            "gap": f"{self.gap:.3g} ({100 * self.relative_gap:.3g} %)",
            "tolerance": f"at most {self.tolerance:.3g} more than an optimum: proven",
            "disagreement": f"{self.disagreement:.10g}",
            "clusters": f"{self.n_clusters} of {self.graph.n} nodes",
            "edges": f"{int(self.cut.sum())} of {self.graph.m} cut",
            **self._class_facts(),
            "presolve": "none"
            if self.removed is None
            else f"{self.removed.nodes} nodes and {self.removed.edges} edges removed",
            "rounds": f"{len(rounds)}" + (f", {rounds[-1].rows} rows" if rounds else ""),
            "seconds": f"{self.timings['total']:.2f} on {self.device}"
            + "".join(f", {k} {v:.2f}" for k, v in self.timings.items() if k != "total"),
            "by JAX": f"{on_device:.2f} s in {calls} calls" if calls else "nothing",
        }

    def _class_facts(self) -> dict[str, str]:
        """How many nodes have which class."""
        if self.classes is None or self.graph.unaries is None:
            return {}
        sizes = np.bincount(self.classes, minlength=self.graph.unaries.shape[1]).tolist()
        return {"classes": ", ".join(f"{label}: {size}" for label, size in enumerate(sizes))}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the graph and the labels, ready for JSON."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "disagreement": self.disagreement,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "relative_gap": self.relative_gap if isfinite(self.relative_gap) else None,
            "tolerance": self.tolerance,
            "initial_objective": self.initial_objective,
            "initial_gap": self.initial_gap,
            "n": self.graph.n,
            "m": self.graph.m,
            "n_clusters": self.n_clusters,
            "classes": None if self.classes is None else self.classes.tolist(),
            "device": self.device,
            "options": asdict(self.options),
            "removed": None if self.removed is None else asdict(self.removed),
            "timings": dict(self.timings),
            "history": [asdict(record) for record in self.history],
        }

    def plot_bounds(self, ax: Axes | None = None) -> Axes:
        """Draw both bounds against the time; what lies between them is not known.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure of pyplot's if not given.

        Examples
        --------
        >>> import bdcc_jax
        >>> from matplotlib.figure import Figure
        >>> result = bdcc_jax.solve([[0, 1, -1], [1, 0, 1], [-1, 1, 0]])
        >>> result.plot_bounds(Figure().subplots()).get_xlabel()
        'seconds'
        """
        from .show.plots import plot_bounds

        return plot_bounds(self, ax)

    def plot_timings(self, ax: Axes | None = None) -> Axes:
        """Draw where the time went; ``ax`` as for :meth:`plot_bounds`."""
        from .show.plots import plot_timings

        return plot_timings(self, ax)

    def plot_cluster_sizes(self, ax: Axes | None = None) -> Axes:
        """Draw how many clusters there are of each size; ``ax`` as for :meth:`plot_bounds`."""
        from .show.plots import plot_cluster_sizes

        return plot_cluster_sizes(self, ax)

    def plot_matrix(self, ax: Axes | None = None) -> Axes:
        """Draw the weights between the nodes as a matrix, sorted by cluster, the largest first.

        Squares on the diagonal are the clusters: what is blue inside of them and red outside agrees
        with the clustering. ``ax`` as for :meth:`plot_bounds`.
        """
        from .show.plots import plot_matrix

        return plot_matrix(self, ax)

    def plot_segmentation(
        self,
        image: ArrayLike,
        superpixels: ArrayLike,
        ax: Axes | None = None,
        *,
        fill: Fill = "picture",
    ) -> Axes:
        """Draw the boundaries between the clusters over a picture.

        Parameters
        ----------
        image : array_like, shape (height, width) or (height, width, 3)
            The picture.
        superpixels : array_like of int, shape (height, width)
            The node of every pixel, as :func:`bdcc_jax.image.superpixel_graph` returns it.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure of pyplot's if not given.
        fill : {'picture', 'mean', 'random'}
            What is seen of a region: the picture, its mean colour, or a colour of its own.
        """
        from .show.plots import plot_segmentation

        return plot_segmentation(self, image, superpixels, ax, fill=fill)

    def __repr__(self) -> str:
        return (
            f"Result({self.status}, objective={self.objective:.10g}, "
            f"lower_bound={self.lower_bound:.10g}, {self.n_clusters} clusters of {self.graph})"
        )

    def _repr_html_(self) -> str:
        from .show.html import table

        return table(self._facts())
