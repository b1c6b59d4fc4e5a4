"""Forged proofs: whatever a file says, nothing false is accepted, and it costs what it weighs."""

import random
import time
from collections import Counter

import pytest
from forgeries import judge, mutated, originals

RULES = {"lp", "presolve", "fixing", "branching", "enumeration", "highs"}


def attack(count, seed):
    """Mutate and judge; returns how many were accepted by the rule of their proof."""
    rng, known, accepted, slowest = random.Random(seed), originals(), Counter(), 0.0
    seeds = [[x.certificate["proof"], x.certificate["labels"]] for x in known]
    for _ in range(count):
        original = rng.choice(known)
        certificate = mutated(rng, original, seeds)
        start = time.perf_counter()
        if judge(original, certificate):
            accepted[certificate["proof"]["rule"]] += 1
        slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 10
    return accepted


def test_no_forgery_is_accepted():
    accepted = attack(4000, 0)
    assert set(accepted) == RULES
    assert min(accepted.values()) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_no_forgery_of_a_million_is_accepted(seed):
    accepted = attack(50_000, seed)
    assert min(accepted[rule] for rule in RULES) > 100
