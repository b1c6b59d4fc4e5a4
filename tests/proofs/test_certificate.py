"""Certificates: what a solve leaves behind is accepted, and nothing false ever is."""

import ast
import copy
import json
import pickle
import sys
from collections import Counter
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from alarms import time_is_up_in_round
from certificates import BARE, TWO_WHEELS, WHOLE, claimed, proven_bound, signed_again, written
from families import joined, planar, small_instances, wheel, wheels_in_a_mesh
from oracles import instance, instances, random_graph

import bdcc_jax
from bdcc_jax import Options, Rejected, solve, verify
from benchmarks.exact_optimum import exact_optimum, exact_optimum_of

LP = {"rule": "lp", "rows": []}
CLAIM = {"rule": "highs", "proof": LP}
ALL_OPTIONS = {
    "default": Options(),
    "no presolve": Options(presolve=False),
    "bare": BARE,
    "whole": WHOLE,
    "reference": Options(presolve=False, engine="reference"),
    "paper": Options.paper(),
}


def vocabulary(proof, found):
    """All rules, steps and rows of a proof."""
    found[proof["rule"]] += 1
    found.update(step[0] for step in proof.get("steps", ()))
    found.update(row[0] for row in proof.get("rows", ()))
    found["parts"] += "part" in proof
    children = [proof.get("proof"), proof.get("lp")]
    if proof["rule"] == "branching":
        children = [node for node in proof["nodes"] if isinstance(node, dict)]
    for child in chain(children, *proof.get("proofs", {}).values()):
        if child is not None:
            vocabulary(child, found)


@pytest.mark.parametrize("options", ALL_OPTIONS.values(), ids=ALL_OPTIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_result_is_accepted(seed, options):
    for name, graph in small_instances(seed).items():
        result = solve(graph, options=options)
        verdict = verify(graph, written(result))
        assert float(verdict.upper_bound) == result.objective
        assert result.status == "optimal"
        assert verdict.claims == ()
        assert verdict.upper_bound - verdict.lower_bound <= 2 * result.tolerance, name


def test_all_rules_are_used_and_accepted():
    """On instances that need every part of the solver; small ones are checked by brute force."""
    found = Counter()
    rng = np.random.default_rng(0)
    graphs = [wheels_in_a_mesh(rng, 10, 10, kind) for kind in ("normal", "ties")]
    graphs += [planar(rng, 12, 12), random_graph(rng, 25, 0.5), joined([wheel(9), wheel(11)])]
    graphs += [random_graph(rng, 7, 0.8) for _ in range(12)]
    for graph in graphs:
        for options in (Options(), Options(odd_wheels=False), BARE):
            result = solve(graph, options=options)
            assert result.status == "optimal"
            verdict = verify(graph, written(result))
            vocabulary(result.certificate["proof"], found)
            if graph.n <= 7:
                assert verdict.lower_bound <= exact_optimum(graph) <= verdict.upper_bound
    rules = {"lp", "presolve", "enumeration", "parts", "fixing", "branching"}
    steps = {"dominant", "similar", "secluded", "weakened", "split", "attracted", "separated"}
    assert set(found) == rules | steps | {"triangle", "cycle", "wheel", 1, 2}


def test_benders_rows_are_written_as_their_cycles():
    graph = planar(np.random.default_rng(3), 6, 6)
    result = solve(graph, options=Options.paper())
    assert {record.phase for record in result.history} == {"lp"}
    assert verify(graph, written(result)).claims == ()


def random_proof(rng, n, depth=2):
    """Any nonsense of the right shape; what it leaves is often enumerated, so that it matters."""

    def nodes(least, most, below=n):
        if rng.random() < 0.03:  # repeated: to be rejected
            return rng.integers(0, below, rng.integers(least, most + 1)).tolist()
        return rng.permutation(below)[: rng.integers(least, most + 1)].tolist()

    def lp():
        rows = [["cycle", float(rng.integers(0, 4)), *nodes(2, 6)] for _ in range(6)]
        rows += [["wheel", float(rng.integers(0, 4)), *nodes(4, 4)] for _ in range(n > 3)]
        rows += [
            [int(rng.integers(0, 4)), float(rng.integers(0, 4)), *nodes(4, 8)] for _ in range(n > 3)
        ]
        rows = [rows[i] for i in rng.permutation(len(rows))[: rng.integers(0, 7)]] if n > 1 else []
        return {"rule": "lp", "rows": rows}

    def parts():
        part = rng.integers(-1, 3, n).tolist()
        sizes = Counter(part)
        proofs = {str(p): [random_proof(rng, sizes[p], depth - 1)] for p in sizes if p >= 0}
        return {**lp(), "part": part, "proofs": proofs}

    rules = ["lp", "presolve", "parts", "fixing", "branching", "enumeration"]
    rule = rng.choice(rules, p=[0.1, 0.3, 0.1, 0.2, 0.2, 0.1] if depth == 2 else [0.1] * 5 + [0.5])
    if depth == 0:
        rule = "lp"
    if rule == "enumeration":
        return {"rule": rule}
    if rule == "presolve":
        steps, slots = [], n
        for _ in range(rng.integers(1, 4)):
            kind = str(rng.choice([*JOINS, "triangle", "weakened", "split", "separated"]))
            ends = rng.permutation(slots)[: 2 + (kind == "triangle")].tolist()
            if kind == "split":
                ends = list(dict.fromkeys([ends[0], slots, *nodes(0, 3, slots)]))
                slots += 1
            steps.append([kind, *ends])
        kept = rng.permutation(slots)[: max(1, slots - (rng.random() < 0.2))].tolist()
        child = random_proof(rng, len(kept), depth - 1)
        return {"rule": rule, "steps": steps, "nodes": kept, "proof": child}
    if rule == "fixing":
        kept, cut = ([nodes(2, 2) for _ in range(rng.integers(0, 3))] for _ in range(2))
        left = n - len({tuple(sorted(pair)) for pair in kept if len({*pair}) == 2})
        child = random_proof(rng, max(1, left), depth - 1)
        return {"rule": rule, "lp": parts(), "kept": kept, "cut": cut, "proof": child}
    if rule == "branching":
        tree = [nodes(2, 2), *(random_proof(rng, n, depth - 1) for _ in range(2))]
        if rng.random() < 0.3:
            tree[1:2] = [nodes(2, 2), *(random_proof(rng, n, depth - 1) for _ in range(2))]
        return {"rule": rule, "nodes": tree[: len(tree) - int(rng.random() < 0.1)]}
    return parts() if rule == "parts" else lp()


JOINS = ("dominant", "similar", "secluded", "attracted")


def test_nothing_false_is_ever_proven():
    """Whatever a proof says: it is rejected, or its bound is one."""
    rng = np.random.default_rng(1)
    accepted = Counter()
    for _ in range(3000):
        n, density = int(rng.integers(2, 7)), rng.choice([0.3, 0.6, 1.0])
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < density]
        weights = {pair: int(rng.integers(-5, 6)) << 64 for pair in pairs}
        proof = json.loads(json.dumps(random_proof(rng, n)))
        try:
            proven = proven_bound(64, n, weights, proof)
        except (Rejected, ValueError, LookupError):
            continue
        assert proven <= exact_optimum_of(n, weights), proof
        accepted[proof["rule"]] += 1
        accepted["tight"] += proven == exact_optimum_of(n, weights)
    assert min(accepted[rule] for rule in ("lp", "presolve", "fixing", "branching", "tight")) > 100


def leaves(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def changed(certificate, path, value):
    certificate = copy.deepcopy(certificate)
    place = certificate
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return certificate


def test_one_changed_number_is_rejected():
    graph = wheels_in_a_mesh(np.random.default_rng(0), 3, 4, "normal")
    certificate = written(solve(graph))
    numbers = [(p, x) for p, x in leaves(certificate) if isinstance(x, int | float)]
    assert len(numbers) > 50
    for path, number in numbers:
        for other in (number + 1, -number - 1, number * (1 + 2**-52) + 1e-300):
            with pytest.raises(Rejected):
                verify(graph, changed(certificate, path, other))


def test_a_liar_who_signs_again_proves_nothing_false():
    """Without the digest the mathematics must hold by itself."""
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(4):
        graph = random_graph(rng, 7, 0.9)
        truth = exact_optimum(graph)
        certificate = written(solve(graph, options=Options(presolve=bool(rng.integers(2)))))
        for path, number in leaves(certificate):
            if not isinstance(number, int | float):
                continue
            for other in (number + 1, number - 1, 2 * number, 0, 10**9, -0.5, True, "1", None):
                forged = signed_again(changed(certificate, path, other))
                try:
                    verdict = verify(graph, forged)
                except Rejected:
                    rejected += 1
                else:
                    assert verdict.lower_bound <= truth <= verdict.upper_bound
                    assert forged["objective"] == float(verdict.upper_bound)
                    assert forged["lower_bound"] <= truth + Fraction(forged["tolerance"])
    assert rejected > 500


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("lower_bound", -1.0, "no lower bound above -2.0"),
        ("objective", -3.0, "the labels cost -2.0"),
        ("labels", [0] * 6, "the labels cost 0.0"),
        ("labels", [0] * 5, "not 6 numbers from 0 to 5"),
        ("labels", [0, 1, 2, 3, 4, True], "not 6 numbers from 0 to 5"),
        ("tolerance", -1.0, "no number from 0.0 on"),
        ("status", "optimal ", "'optimal '"),
        ("version", 2, "unknown format 'bdcc-jax certificate', version 2"),
        ("instance", {}, "another instance"),
        ("proof", {"rule": "bound"}, "no certificate: the rule 'bound'"),
        ("proof", {"rule": "lp"}, "no certificate, or a damaged one"),
        ("proof", {**LP, "more": []}, "no certificate, or a damaged one"),
        ("proof", LP, "not proven to be optimal"),
        ("proof", {"rule": "lp", "rows": [["cycle", -1.0, 0, 1]]}, "no number from 0.0 on: -1.0"),
        ("proof", {"rule": "lp", "rows": [["wheel", 1.0, 0, 1, 2]]}, "different numbers"),
        ("proof", {**CLAIM, "lower_bound": -2.0}, "not proven to be optimal"),
        ("proof", {"rule": "branching", "nodes": [[0, 9], LP, LP]}, "different numbers"),
        ("proof", {"rule": "branching", "nodes": [[-1, 0], LP, LP]}, "different numbers"),
        ("proof", {"rule": "branching", "nodes": [[1, 1], LP, LP]}, "different numbers"),
        ("proof", {"rule": "branching", "nodes": [[0, 1], LP]}, "1 branches of the tree"),
        ("proof", {"rule": "branching", "nodes": [LP, LP]}, "-1 branches of the tree"),
    ],
)
def test_what_is_wrong_is_said(key, value, message):
    graph = wheel(5)
    certificate = {**written(solve(graph)), key: value}
    with pytest.raises(Rejected, match=message):
        verify(graph, signed_again(certificate))


def test_a_claim_of_highs_is_named_and_proves_nothing(monkeypatch):
    result = claimed(monkeypatch)
    assert result.status == "time_limit"
    verdict = verify(TWO_WHEELS, written(result))
    assert verdict.lower_bound == -7 < result.lower_bound == result.objective == -6
    (claim,) = verdict.claims
    assert claim.startswith("16 nodes and 28 edges: at least -6.00000")  # less its tolerance
    assert claim.endswith("(proven: at least -7.0)")
    for forged in ({"status": "optimal"}, {"lower_bound": -5.0}):
        with pytest.raises(Rejected, match=r"not proven|labels contradict"):
            verify(TWO_WHEELS, signed_again({**written(result), **forged}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", instances("bsds300test-rf255ucm") + instances("opengm-knott3d-stitched")
)
def test_real_instances(name):
    graph = instance(name)
    result = solve(graph)
    verdict = verify(graph, written(result))
    assert result.status == "optimal"
    assert verdict.claims == ()


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_an_unfinished_solve_is_certified_too(rounds, monkeypatch):
    graph = wheel(31, 1.1)  # two rounds of the LP over cycles never prove an optimum of it
    pass_time = time_is_up_in_round(monkeypatch, rounds)
    result = solve(graph, time_limit=rounds, options=BARE, callback=pass_time)
    assert result.status == "time_limit"
    assert len(result.history) == rounds
    verdict = verify(graph, written(result))
    assert verdict.lower_bound >= result.lower_bound - result.tolerance


def test_certificates_survive_pickling():
    graph = wheels_in_a_mesh(np.random.default_rng(0), 5, 5, "normal")
    result = solve(graph)
    again = pickle.loads(pickle.dumps(result))
    assert again.certificate == result.certificate


def test_the_checker_is_short_and_uses_nothing_of_the_solver():
    folder = Path(bdcc_jax.__file__).parent / "proofs" / "checker"
    sources = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert sum(source.count("\n") for source in sources.values()) < 700
    imported = set()
    for source in sources.values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                if node.level:
                    assert node.level == 1
                    assert node.module in sources
                    continue
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert imported - {"numpy"} <= set(sys.stdlib_module_names)
