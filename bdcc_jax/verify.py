"""Check a result without trusting the solver; the checker itself is ``proofs/checker``."""

from typing import Any

from .instance.graph import Graph
from .proofs.checker import verify as checker
from .proofs.checker.reading import Rejected
from .proofs.checker.verify import Verdict

__all__ = ["Rejected", "Verdict", "verify"]


def verify(graph: Graph, certificate: dict[str, Any]) -> Verdict:
    """Prove both bounds of a certificate anew, in exact arithmetic.

    Parameters
    ----------
    graph : Graph
        The instance.
    certificate : dict
        A :attr:`bdcc_jax.Result.certificate`, or what ``json.load`` makes of a file of one.

    Returns
    -------
    Verdict
        What is proven, as fractions. Without any ``claims`` that is all the certificate says.

    Raises
    ------
    Rejected
        The certificate does not prove what it says, was changed, or is of another instance.

    Examples
    --------
    >>> import bdcc_jax
    >>> graph = bdcc_jax.Graph(3, [(0, 1), (1, 2), (0, 2)], [2.0, 1.5, -1.0])
    >>> verdict = bdcc_jax.verify(graph, bdcc_jax.solve(graph).certificate)
    >>> verdict.lower_bound, verdict.upper_bound, verdict.claims
    (Fraction(0, 1), Fraction(0, 1), ())
    """
    return checker.verify(graph, certificate)
