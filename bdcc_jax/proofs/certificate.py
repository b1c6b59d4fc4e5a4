"""Why a lower bound holds: proofs that a solve leaves behind, and their form in a certificate.

A solve keeps the proof of its best bound as it goes. A proof only refers to what was computed
anyway; it is written out when somebody asks for it. ``verify.py`` checks what is written here, and
``docs/certificates.md`` says what it means.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Protocol

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..instance.unconstrained import Unconstrained
from ..lp.dual_ascent import Relaxed
from ..lp.lagrangian import Lagrangian
from ..lp.rows import Rows
from ..presolve import Presolved
from .rows_in_nodes import InNodes, in_nodes

FORMAT, VERSION = "bdcc-jax certificate", 1


class Proof(Protocol):
    """Why no clustering of an instance costs less than some bound."""

    @property
    def proven(self) -> bool:
        """False if the bound rests on a number that somebody else has computed."""

    def to_dict(self) -> dict[str, Any]:
        """Write it out, ready for JSON."""


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What every clustering of an instance costs at least, and why: never one without the other.

    The proof is a snapshot, which nothing that goes on changes. The best clustering costs at most
    ``excess`` more than an optimum: finite only where the proof says more about that than the
    difference of the two bounds does.
    """

    value: float
    proof: Proof
    excess: float = inf


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The rows of an LP and multipliers: the Lagrangian is a bound. Without rows it is trivial."""

    graph: Graph
    rows: Rows
    multipliers: FloatArray
    proven: ClassVar = True

    @classmethod
    def trivial(cls, graph: Graph) -> Relaxation:
        """No clustering costs less than the sum of the negative weights."""
        return cls(graph, Rows.empty(), np.empty(0))

    def to_dict(self) -> dict[str, Any]:
        """Write the rows that are used as what they say of nodes, which is valid by its form."""
        used = self.multipliers > 0
        return combination(in_nodes(self.graph, self.rows.take(used)), self.multipliers[used])


@dataclass(frozen=True, eq=False)
class AscentProof:
    """The triangles of a dual ascent and their multipliers; their rows are made when asked for."""

    relaxed: Relaxed
    proven: ClassVar = True

    def to_dict(self) -> dict[str, Any]:
        """Write cycle inequalities over edges of the instance, from which chords have gone."""
        return Relaxation(self.relaxed.graph, *self.relaxed.rows).to_dict()


def relaxed_bound(graph: Graph, rows: Rows, multipliers: FloatArray) -> LowerBound:
    """The Lagrangian bound of rows and multipliers, with its proof."""
    value = Lagrangian.of(graph.weights, rows, multipliers).bound
    return LowerBound(value, Relaxation(graph, rows, multipliers))


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The instance is so small that whoever checks can look at all clusterings."""

    proven: ClassVar = True

    def to_dict(self) -> dict[str, Any]:
        """Write the name of the rule only."""
        return {"rule": "enumeration"}


@dataclass(frozen=True, eq=False)
class PresolveProof:
    """Steps of presolve, and a proof for what they leave."""

    presolved: Presolved
    rest: Proof

    @property
    def proven(self) -> bool:
        """Whether the proof for what presolve leaves is."""
        return self.rest.proven

    def to_dict(self) -> dict[str, Any]:
        """Write the steps in order; nodes are slots, see ``presolve/steps.py``."""
        steps, slots = self.presolved.log()
        return {"rule": "presolve", "steps": steps, "nodes": slots, "proof": self.rest.to_dict()}


@dataclass(frozen=True, eq=False)
class ConstrainedProof:
    """A proof for the instance that stands for one with constraints."""

    instead: Unconstrained
    rest: Proof

    @property
    def proven(self) -> bool:
        """Whether the proof for the instance without constraints is."""
        return self.rest.proven

    def to_dict(self) -> dict[str, Any]:
        """Write what was taken off the weights of which pairs that cannot be together."""
        pairs, amounts = self.instead.pairs.tolist(), self.instead.amounts.tolist()
        apart = [[u, v, amount] for (u, v), amount in zip(pairs, amounts, strict=True)]
        return {"rule": "constraints", "apart": apart, "proof": self.rest.to_dict()}


@dataclass(frozen=True, eq=False)
class Claim:
    """A bound without a proof: of HiGHS' branch and bound, or of a run before this one.

    No result is optimal by it; ``weaker`` is why less than that holds.
    """

    lower_bound: float
    weaker: Proof
    proven: ClassVar = False

    def to_dict(self) -> dict[str, Any]:
        """Write the claimed bound, and the proof of the weaker one."""
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
    exponent: int = 0,
) -> dict[str, Any]:
    """All that is needed to check a result, ready for JSON.

    Numbers in the proof are in units of 2 to the power of ``-exponent``.
    """
    data = graph.edges.astype("<i8").tobytes() + graph.weights.astype("<f8").tobytes()
    data += graph.constraints.bytes() if graph.constraints else b""
    data += b"" if graph.lifted is None else b"lifted" + graph.lifted.tobytes()
    data += b"" if graph.unaries is None else b"unaries" + graph.unaries.astype("<f8").tobytes()
    sha256 = hashlib.sha256(data).hexdigest()
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "instance": {"n": graph.n, "m": graph.m, "sha256": sha256},
        "status": status,
        "objective": objective,
        "lower_bound": lower_bound,
        "tolerance": tolerance,
        "labels": labels.tolist(),
        "proof": proof.to_dict(),
    }
    if exponent:
        content["exponent"] = exponent
    if (classes := graph.classes(labels)) is not None:
        content["classes"] = classes.tolist()
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()}


def combination(rows: list[list[InNodes]], multipliers: FloatArray) -> dict[str, Any]:
    """Rows and their multipliers, as the rule that relaxes them."""
    written = [
        [kind, y * amount, *nodes]
        for parts, y in zip(rows, multipliers.tolist(), strict=True)
        for kind, amount, nodes in parts
    ]
    return {"rule": "lp", "rows": written}
