"""Pairs of records with scores that are right: log-odds of a normal model, and who is who."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

WINDOW = 40
"""False pairs are of records that stand so close in the list, as blocking leaves them."""


class ScoredPairs(NamedTuple):
    """Ends and match weights (log2 of the odds) of pairs, and the entity of every record."""

    left: np.ndarray
    right: np.ndarray
    match_weight: np.ndarray
    truth: np.ndarray


def scored_pairs(records: int, pairs: int, strength: float, *, seed: int = 0) -> ScoredPairs:
    """Make records of entities with 2.5 records on average, and about so many pairs.

    All pairs of an entity are there. The log-likelihood ratio of a pair is normal with mean
    ``strength`` and variance ``2 * strength`` for true pairs and the mirror image of it for false
    ones, which is what such a ratio has to be; with the share of true pairs it gives the odds.
    """
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.poisson(1.5, records)
    truth = np.repeat(np.arange(records), sizes)[:records]
    true = [
        (at := np.flatnonzero(truth[:-k] == truth[k:]), at + k) for k in range(1, int(sizes.max()))
    ]
    u, v = (np.concatenate(ends) for ends in zip(*true, strict=True))
    more = max(0, pairs - len(u))
    a = rng.integers(0, records, 2 * more)
    b = a + rng.integers(1, WINDOW, 2 * more)
    kept = (b < records) & (truth[a] != truth[np.minimum(b, records - 1)])
    keys = np.unique(a[kept] * records + b[kept])
    keys = rng.permutation(keys)[:more]
    match = np.repeat([True, False], [len(u), len(keys)])
    u, v = np.append(u, keys // records), np.append(v, keys % records)
    ratio = rng.normal(np.where(match, strength, -strength), np.sqrt(2 * strength))
    odds = ratio + np.log(match.sum() / max(1, (~match).sum()))
    names = rng.permutation(records)  # ids are in no order
    found = np.empty(records, dtype=np.int64)
    found[names] = truth
    order = rng.permutation(len(u))
    return ScoredPairs(names[u][order], names[v][order], odds[order] / np.log(2), found)
