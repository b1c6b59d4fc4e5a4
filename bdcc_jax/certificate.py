"""Why a lower bound holds: proofs that a solve leaves behind, and their form in a certificate.

A solve keeps the proof of its best bound as it goes. A proof only refers to what was computed
anyway; it is written out when somebody asks for it. ``verify.py`` checks what is written here, and
``docs/certificates.md`` says what it means.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from .arrays import FloatArray, IntArray
from .graph import Graph
from .rows import Rows

if TYPE_CHECKING:  # they import this module
    from .fixing import Fixing
    from .parts import Parts
    from .presolve import Presolved

FORMAT, VERSION = "bdcc-jax certificate", 1


class Proof(Protocol):
    """Why no clustering of an instance costs less than some bound."""

    @property
    def proven(self) -> bool:
        """Whether nothing is left to believe."""

    def to_dict(self) -> dict[str, Any]:
        """Write it out, ready for JSON."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The rows of an LP and multipliers: the Lagrangian is a bound. Without rows it is trivial."""

    graph: Graph
    rows: Rows
    multipliers: FloatArray

    @classmethod
    def trivial(cls, graph: Graph) -> Relaxation:
        """No clustering costs less than the sum of the negative weights."""
        return cls(graph, Rows.empty(), np.empty(0))

    @property
    def proven(self) -> bool:
        """By the Lagrangian."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Write rows as nodes: what they say is then valid by its form."""
        used = self.multipliers > 0
        rows, y = self.rows.take(used), self.multipliers[used].tolist()
        u, v = (ends.tolist() for ends in self.graph.edges.T)
        indices, values = rows.indices.tolist(), rows.values.tolist()
        starts, upper = rows.starts.tolist(), rows.upper.tolist()
        written: list[list[Any]] = []
        for i in range(len(rows)):
            row = slice(starts[i], starts[i + 1])
            ends = [(u[e], v[e]) for e in indices[row]]
            plus = [pair for pair, value in zip(ends, values[row], strict=True) if value > 0]
            if upper[i] > 0:
                minus = [pair for pair, value in zip(ends, values[row], strict=True) if value < 0]
                written.append(["wheel", y[i], *_wheel(plus, minus)])
            elif len(plus) == 1 and set(values[row]) <= {1.0, -1.0}:
                written.append(["cycle", y[i], *a_path(ends[1:], *ends[0])])
            else:
                parts = _benders_cycles(ends, values[row])
                written.extend(["cycle", y[i] * amount, *cycle] for cycle, amount in parts)
        return {"rule": "lp", "rows": written}


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The instance is so small that whoever checks can look at all clusterings."""

    @property
    def proven(self) -> bool:
        """By looking at all of them."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Nothing needs to be said."""
        return {"rule": "enumeration"}


@dataclass(frozen=True, eq=False)
class Reduction:
    """Steps of presolve, and a proof for what they leave."""

    presolved: Presolved
    rest: Proof

    @property
    def proven(self) -> bool:
        """If what is left is."""
        return self.rest.proven

    def to_dict(self) -> dict[str, Any]:
        """Write the steps in order; nodes are slots, see ``presolve/steps.py``."""
        steps, slots = self.presolved.log()
        return {
            "rule": "presolve",
            "steps": steps,
            "nodes": slots,
            "proof": self.rest.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Division:
    """An LP, some of whose rows are taken back to raise the bound part by part."""

    parts: Parts

    @property
    def proven(self) -> bool:
        """If all parts are."""
        return all(proof.proven for proof in self.parts.proofs.values())

    def to_dict(self) -> dict[str, Any]:
        """Write the LP, the part of every node, and the proofs of the parts that have one."""
        parts = self.parts
        proofs = {str(i): [proof.to_dict()] for i, proof in sorted(parts.proofs.items())}
        lp = Relaxation(parts.graph, parts.all_rows, parts.multipliers).to_dict()
        return {**lp, "part": parts.part.tolist(), "proofs": proofs}


@dataclass(frozen=True, eq=False)
class Decision:
    """What is certain in every better clustering, and a proof for what that leaves."""

    graph: Graph
    parts: Parts
    fixing: Fixing
    rest: Proof | None

    @property
    def proven(self) -> bool:
        """If the decisions are, and what they leave."""
        return Division(self.parts).proven and (self.rest is None or self.rest.proven)

    def to_dict(self) -> dict[str, Any]:
        """Write the decided edges that are used: those joined, and those that are dropped."""
        fixing, edges = self.fixing, self.graph.edges
        # Without a rest the decisions contradict each other: any of the cut edges may tell.
        cut = fixing.cut if self.rest is None else fixing.cut & self.graph.positive
        if self.rest is not None and not (fixing.kept | cut).any():
            return self.rest.to_dict()
        return {
            "rule": "fixing",
            "lp": Division(self.parts).to_dict(),
            "kept": edges[fixing.kept].tolist(),
            "cut": edges[cut].tolist(),
            "proof": None if self.rest is None else self.rest.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Claim:
    """A bound without a proof: of HiGHS' branch and bound, or of a run before this one.

    No result is optimal by it; ``weaker`` is why less than that holds.
    """

    lower_bound: float
    weaker: Proof

    @property
    def proven(self) -> bool:
        """It is believed."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Write what is claimed, and the proof of less."""
        return {"rule": "highs", "lower_bound": self.lower_bound, "proof": self.weaker.to_dict()}


def certificate(
    graph: Graph,
    labels: IntArray,
    proof: Proof,
    *,
    status: str,
    objective: float,
    lower_bound: float,
    tolerance: float,
) -> dict[str, Any]:
    """All that is needed to check a result, ready for JSON."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "instance": {"n": graph.n, "m": graph.m, "sha256": _fingerprint(graph)},
        "status": status,
        "objective": objective,
        "lower_bound": lower_bound,
        "tolerance": tolerance,
        "labels": labels.tolist(),
        "proof": proof.to_dict(),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()}


def _fingerprint(graph: Graph) -> str:
    edges, weights = graph.edges.astype("<i8"), graph.weights.astype("<f8")
    return hashlib.sha256(edges.tobytes() + weights.tobytes()).hexdigest()


def _wheel(rim: list[tuple[int, int]], spokes: list[tuple[int, int]]) -> list[int]:
    """The hub of an odd wheel, then its rim in order."""
    (hub,) = set.intersection(*map(set, spokes))
    return [hub, *a_path(rim[1:], *rim[0])]


def _adjacency(edges: list[tuple[int, int]]) -> dict[int, list[int]]:
    at: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        at[a].append(b)
        at[b].append(a)
    return at


def a_path(edges: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """The nodes of a shortest path along some edges; empty if there is none."""
    return _path(_adjacency(edges), start, end)


def _path(at: Mapping[int, Iterable[int]], start: int, end: int) -> list[int]:
    """A shortest path, given the nodes next to each; empty if there is none."""
    before = {start: start}
    queue = deque([start])
    while queue and end not in before:
        a = queue.popleft()
        for b in at[a]:
            if b not in before:
                before[b] = a
                queue.append(b)
    if end not in before:
        return []
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def _benders_cycles(
    ends: list[tuple[int, int]], values: list[float]
) -> Iterator[tuple[list[int], float]]:
    """The cycle inequalities that a Benders row is the sum of, and how often each is in it.

    The whole coefficients of the row are a flow from the root, the node that all its negative
    edges share, to their far ends; any maximum flow of that width will do.
    """
    names = sorted({node for pair in ends for node in pair})
    number = {name: i for i, name in enumerate(names)}
    sent = [(*pair, int(value)) for pair, value in zip(ends, values, strict=True) if value > 0]
    (root, *_) = set.intersection(*({a, b} for a, b, _ in sent))
    sink = len(names)
    arcs = [(number[a + b - root], sink, amount) for a, b, amount in sent]
    for (a, b), value in zip(ends, values, strict=True):
        if value < 0:
            arcs.append((number[a], number[b], -int(value)))
            arcs.append((number[b], number[a], -int(value)))
    tails, heads, widths = np.array(arcs).T
    network = sp.coo_array((widths.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network.tocsr(), number[root], sink).flow.tocoo()
    left: dict[int, dict[int, int]] = defaultdict(dict)
    for a, b, amount in zip(*flow.coords, flow.data, strict=True):
        if amount > 0:
            left[int(a)][int(b)] = int(amount)
    while path := _path(left, number[root], sink):
        amount = min(left[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            left[a][b] -= amount
            if left[a][b] == 0:
                del left[a][b]
        yield [names[i] for i in path[:-1]], float(amount)
