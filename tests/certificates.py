"""What the tests of certificates share."""

import hashlib
import json
from dataclasses import replace

from families import joined, wheel

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.proofs.checker.labelled_graph import LabelledGraph
from bdcc_jax.proofs.checker.reading import Account
from bdcc_jax.proofs.checker.rules import Prover
from bdcc_jax.search.branching import BranchAndBound

BARE = Options(presolve=False, heuristics=False, odd_wheels=False)
WHOLE = replace(BARE, integer="whole")
TWO_WHEELS = joined([wheel(5), wheel(9)])  # the LP over cycles misses 1


def written(result):
    """The certificate as it comes back from a file."""
    return json.loads(json.dumps(result.certificate))


def signed_again(certificate):
    """With a fresh digest, as a liar would do it."""
    content = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**content, "digest": hashlib.sha256(text.encode()).hexdigest()}


def proven_bound(shift, n, weights, proof):
    """What a proof proves of n nodes, with weights in units of ``2**-shift``."""
    account = Account(shift)
    return Prover(account).prove(LabelledGraph([0] * n, weights, account), proof)


def claimed(monkeypatch):
    """What is left if the time is up when HiGHS' branch and bound has just ended."""
    monkeypatch.setattr(BranchAndBound, "grow", lambda _: Clock(0.0).check())
    return solve(TWO_WHEELS, options=WHOLE)
