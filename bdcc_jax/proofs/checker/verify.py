"""Check a certificate in exact arithmetic, with the standard library: see docs/certificates.md."""

import hashlib
import json
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from .labelled_graph import LabelledGraph
from .reading import Account, Rejected, ids, number, require
from .rules import Prover

WORK = 64  # steps for every byte of a certificate, and for every node and edge of its instance
STATUSES = ("optimal", "gap", "time_limit", "max_rounds", "interrupted", "stopped", "numerical")


class Verdict(NamedTuple):
    """What is true of an instance; without any ``claims``, that is all the certificate says."""

    upper_bound: Fraction  # what the clustering in the certificate costs
    lower_bound: Fraction  # what every clustering costs at least: proven
    claims: tuple[str, ...]  # better bounds on parts of it, which HiGHS' branch and bound claims


def verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    """Prove the bounds of a certificate, a ``Result.certificate``, anew, or raise Rejected."""
    try:
        return _verify(graph, certificate)
    except Rejected:
        raise
    except Exception as error:  # whatever a damaged or forged file provokes
        raise Rejected(f"this is no certificate, or a damaged one ({error!a:.200})") from error


def _verify(graph: Any, certificate: dict[str, Any]) -> Verdict:
    said = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    require(digest == certificate["digest"], "the certificate was changed: its digest is another")
    said = json.loads(text)  # anew, so that there are no types but those of JSON, and no NaN
    limits = [graph.constraints.must_link, graph.constraints.cannot_link, graph.constraints.groups]
    limits = [part.astype("<i8") for part in limits if part is not None]
    data = graph.edges.astype("<i8").tobytes() + graph.weights.astype("<f8").tobytes()
    if sum(map(len, limits)):
        data += b"".join(len(part).to_bytes(8, "little") + part.tobytes() for part in limits)
    least, most = graph.constraints.min_clusters, graph.constraints.max_clusters
    data += b"" if least is None else f"min_clusters {least}".encode()
    data += b"" if most is None else f"max_clusters {most}".encode()
    if graph.lifted is not None:
        data += b"lifted" + graph.lifted.astype("?").tobytes()
    if graph.unaries is not None:
        data += b"unaries" + graph.unaries.astype("<f8").tobytes()
    n, m, sha256 = graph.n, len(graph.edges), hashlib.sha256(data).hexdigest()
    form, version, status, proof = (said[key] for key in ("format", "version", "status", "proof"))
    actual = json.dumps(["bdcc-jax certificate", 1, {"m": m, "n": n, "sha256": sha256}])
    same = json.dumps([form, version, said["instance"]], sort_keys=True) == actual  # 1 is not True
    require(same, f"of another instance, or unknown format {form!a:.80}, version {version!a:.80}")
    costs = [] if graph.unaries is None else graph.unaries.tolist()
    priced = [(v, n + k, c) for v, row in enumerate(costs) for k, c in enumerate(row) if c < inf]
    ratios = [w.as_integer_ratio() for w in [*graph.weights.tolist(), *(c for *_, c in priced)]]
    shift = 64 + max([0, *(b.bit_length() - 1 for _, b in ratios)])  # 64: for the multipliers
    edges = dict.fromkeys((u, v) for u, v in graph.edges.tolist() if 0 <= u < v < n)
    edges |= dict.fromkeys((v, k) for v, k, _ in priced)  # a node a class, behind all others
    weights = {e: (a << shift) // b for e, (a, b) in zip(edges, ratios, strict=True)}
    small = all(abs(a) < b for a, b in ratios)  # so that another unit makes none less whole
    inner = shift - ids([said.get("exponent", 0)], shift if small else 1)[0]  # unit of the proof
    must, cannot, *groups = lists = [part.tolist() for part in limits]
    outermost = lists if proof["rule"] == "constraints" else []  # whose nodes are the user's
    unit = Fraction(1, 1 << shift)
    account = Account(inner, WORK * (len(text) + n + m + len(priced)))
    prover = Prover(account, limits=outermost)
    labels = ids(said["labels"], n, size=n)
    inside = [(x, g) for x, g in zip(labels, *groups, strict=True) if g >= 0] if groups else []
    kept = all(labels[u] == labels[v] for u, v in must) and len({*inside}) == len(inside)
    apart = all(labels[u] != labels[v] for u, v in cannot)
    require(kept and apart, "the clustering violates a constraint of the instance")
    require((least or 1) <= len({*labels}) <= (most or n), f"there are {len({*labels})} clusters")
    whole = LabelledGraph(labels + [0] * len(costs[0] if costs else []), weights, account)
    whole.numbers = None if least is most is None else (least or 1, most or n)
    if costs:
        whole.classify(ids(said["classes"], len(costs[0]), size=n), edges)
    if graph.lifted is not None:
        pairs = zip(graph.edges.tolist(), graph.lifted.tolist(), strict=True)
        whole.connect([pair for pair, is_lifted in pairs if not is_lifted])
    upper, slack = unit * whole.cost(), unit * whole.least() / 1000
    require(float(upper) == number(said["objective"]), f"the labels cost {float(upper)!r}")
    require(number(said["tolerance"], 0.0) >= 0 and status in STATUSES, f"{status!a:.80}")
    lower, stated = unit * (bound := prover.prove(whole, proof)), number(said["lower_bound"])
    require(status != "optimal" or whole.near(bound, whole.met), "it is not proven to be optimal")
    if stated <= lower + slack:
        return Verdict(upper, lower, ())
    require(bool(prover.claims), f"no lower bound above {float(lower)!r} is proven")
    believer = Prover(account, True, outermost)
    claimed = unit * believer.prove(whole.copy(), proof)
    require(stated - slack <= claimed <= upper + slack, "HiGHS claims what labels contradict")
    return Verdict(upper, lower, tuple(prover.claims))
