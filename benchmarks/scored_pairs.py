"""Pairs of records with scores that are right: log-odds of a normal model, and who is who."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ScoredPairs(NamedTuple):
    """Ends and match weights (log2 of the odds) of pairs, and the entity of every record."""

    left: np.ndarray
    right: np.ndarray
    match_weight: np.ndarray
    truth: np.ndarray


def scored_pairs(
    records: int,
    strength: float,
    *,
    entities: int = 3,
    true: float = 1.0,
    false: float = 1.0,
    seed: int = 0,
) -> ScoredPairs:
    """Make records of entities, 2.5 records each on average, in blocks of a few entities.

    All pairs of a block are scored (or these shares of the true and the false ones), and no others,
    as blocking rules leave it. The log-likelihood ratio of a pair is normal with mean ``strength``
    and variance ``2 * strength`` for true pairs and the mirror image of it for false ones, which is
    what such a ratio has to be; with the share of true pairs it gives the odds.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(records), 1 + rng.poisson(1.5, records))[:records]
    block = truth // entities
    ends = []
    for step in range(1, int(np.bincount(block).max())):
        at = np.flatnonzero(block[:-step] == block[step:])
        ends.append((at, at + step))
    u, v = (np.concatenate(end) for end in zip(*ends, strict=True))
    order = rng.permutation(len(u))
    u, v = u[order], v[order]
    scored = rng.random(len(u)) < np.where(truth[u] == truth[v], true, false)
    u, v = u[scored], v[scored]
    match = truth[u] == truth[v]
    ratio = rng.normal(np.where(match, strength, -strength), np.sqrt(2 * strength))
    odds = ratio + np.log(match.sum() / max(1, (~match).sum()))
    names = rng.permutation(records)  # ids are in no order
    found = np.empty(records, dtype=np.int64)
    found[names] = truth
    return ScoredPairs(names[u], names[v], odds / np.log(2), found)
