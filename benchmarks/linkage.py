"""Records scored by splink, clustered by connected components at a threshold and by bdcc_jax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bdcc_jax.base.components import connected_components
from bdcc_jax.metrics import contingency_table

from .people import People

BLOCKING = (
    ("first_name", "surname"),
    ("surname", "dob"),
    ("first_name", "dob"),
    ("phone",),
    ("email",),
    ("surname", "city"),
)


def predictions(made: People, fields: Sequence[str]) -> Any:
    """Train splink's model on some fields of records, and score pairs: splink's own table."""
    import splink.comparison_library as cl
    from splink import Linker, SettingsCreator, block_on
    from splink.backends.duckdb import DuckDBAPI

    names = {
        name: cl.JaroWinklerAtThresholds(name, [0.9, 0.7]) for name in ("first_name", "surname")
    }
    comparisons = {
        **names,
        **{name: cl.LevenshteinAtThresholds(name, [1, 2]) for name in ("dob", "phone", "email")},
        "city": cl.ExactMatch("city").configure(term_frequency_adjustments=True),
    }
    rules = [block_on(*rule) for rule in BLOCKING if set(rule) <= set(fields)]
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[comparisons[field] for field in fields],
        blocking_rules_to_generate_predictions=rules,
    )
    table = pa.table({name: made.columns[name] for name in ("unique_id", *fields)})
    linker = Linker(DuckDBAPI().register(table, table_name="people"), settings, log_level="ERROR")
    linker.training.estimate_probability_two_random_records_match(rules[:1], recall=0.6)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in (rules[0], rules[-1]):
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    return linker.inference.predict()


class Quality(NamedTuple):
    """Of a clustering, counted in pairs of records."""

    f1: float
    precision: float
    recall: float


def quality(truth: np.ndarray, labels: np.ndarray) -> Quality:
    """Compare with the truth: how many pairs are joined in both, in one, in the other."""
    table = contingency_table(truth, labels)

    def pairs(counts: np.ndarray) -> int:
        return int((counts.astype(np.int64) * (counts - 1)).sum()) // 2

    both, true, found = pairs(table.data), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    return Quality(2 * both / max(1, true + found), both / max(1, found), both / max(1, true))


def components(n: int, u: np.ndarray, v: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """What most pipelines do: join all pairs above a threshold, and all that hangs together."""
    return connected_components(n, u, v, kept)
