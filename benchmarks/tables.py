"""Tables of scored pairs to clusters: seconds, memory, and how right the clusters are.

    python -m benchmarks.tables scale --records 50000 2820000
    python -m benchmarks.tables again --records 50000
    python -m benchmarks.tables components
    python -m benchmarks.tables splink      # needs splink: pip install splink

``scale`` writes Parquet files of pairs and runs ``bdcc-jax cluster`` on each, in a process of its
own; ``again`` calls ``cluster`` three times in one process. ``components`` compares with connected
components, at the threshold that is best for them (which takes the truth to know), on pairs whose
scores are right by construction. ``splink`` does the same on records of people who do not exist,
scored by splink.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bdcc_jax.tables import Clusters, cluster

from .linkage import Quality, components, predictions, quality
from .markdown import print_header, print_row
from .people import people
from .scored_pairs import ScoredPairs, scored_pairs

COMMAND = ("cluster", "pairs.parquet", "-o", "clusters.parquet", "--json")
STRENGTH = 6.0
RECORDS = 4000
STEP = 0.5
"""Bits between two thresholds that are tried."""


def table_of(made: ScoredPairs) -> pa.Table:
    """As splink writes it, with ids that are text."""

    def ids(numbers: np.ndarray) -> pa.Array:
        return pc.binary_join_element_wise("record-", pa.array(numbers).cast(pa.string()), "")

    columns = {"match_weight": made.match_weight}
    return pa.table({"unique_id_l": ids(made.left), "unique_id_r": ids(made.right), **columns})


def scale(sizes: Iterable[int]) -> None:
    """Whole runs of the command, from Parquet to Parquet."""
    heads = ("pairs", "records", "clusters", "status", "s, whole command", "CPU s")
    print_header((*heads, "reading", "numbering", "solving", "confidences", "GB at most"))
    for records in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made = scored_pairs(records, STRENGTH)
            pq.write_table(table_of(made), folder / "pairs.parquet")
            del made
            start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-m", "bdcc_jax", *COMMAND],
                cwd=folder,
                stdout=subprocess.PIPE,
                check=True,
            )
            seconds, after = (
                time.perf_counter() - start,
                resource.getrusage(resource.RUSAGE_CHILDREN),
            )
            about = json.loads(done.stdout)
            stages = about["seconds"]
            cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
            print_row(
                *(f"{about[key]:,}" for key in ("pairs", "records", "clusters")),
                about["status"],
                f"{seconds:.1f}",
                f"{cpu:.1f}",
                *(
                    f"{stages[key]:.1f}"
                    for key in ("reading pairs", "numbering records", "solving", "confidences")
                ),
                f"{after.ru_maxrss / 2**20:.2f}",  # of the largest child so far: sizes ascend
            )


def again(sizes: Iterable[int]) -> None:
    """The same table three times in one process: from the second time on nothing is loaded."""
    print_header(("pairs", "records", "status", "s", "CPU s", "solving, s"))
    for records in sizes:
        table = table_of(scored_pairs(records, STRENGTH))
        for _ in range(3):
            start, cpu = time.perf_counter(), time.process_time()
            clusters = cluster(table)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            result, solving = clusters.result, clusters.seconds["solving"]
            counts = f"{clusters.pairs:,}", f"{result.graph.n:,}"
            print_row(*counts, result.status, f"{seconds:.2f}", f"{cpu:.2f}", f"{solving:.2f}")


def compare(
    name: str,
    truth: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    bits: np.ndarray,
    solve: Callable[[float], Clusters],
) -> None:
    """One row: connected components at their best threshold, and clusters at 0.5 and at theirs."""
    n, likely = len(truth), bits > 0
    tried = np.arange(np.floor(bits.min()), np.ceil(bits.max()) + STEP, STEP)
    best = max((quality(truth, components(n, u, v, bits > t)), t) for t in tried)
    half = quality(truth, components(n, u, v, likely))
    ours = solve(0.5)
    # Thresholds beyond 15 bits were never the best ones, and make nothing attract.
    ours_best = max(
        (quality(truth, solve(1 / (1 + 2.0**-t)).result.labels), t) for t in range(-6, 16)
    )
    print_row(
        name,
        f"{n:,}",
        f"{len(u):,}",
        f"{np.mean(truth[u[likely]] == truth[v[likely]]):.3f}",
        _shown(half),
        f"{_shown(best[0])} at {best[1]:g}",
        f"{_shown(quality(truth, ours.result.labels))} ({ours.result.status})",
        f"{_shown(ours_best[0])} at {ours_best[1]:g}",
    )


HEADINGS = (
    "pairs by",
    "records",
    "pairs",
    "true of those above 0.5",
    "components at 0.5: F1 (precision, recall)",
    "components, best threshold (bits)",
    "clusters at 0.5",
    "clusters, best threshold (bits)",
)


def _shown(found: Quality) -> str:
    return f"{found.f1:.3f} ({found.precision:.3f}, {found.recall:.3f})"


MODELS = (
    (10.0, 1.0, 1.0, 3),
    (3.0, 1.0, 1.0, 3),
    (3.0, 0.4, 0.4, 3),
    (10.0, 1.0, 0.05, 30),
    (3.0, 1.0, 0.05, 30),
)
"""Strength, the shares of true and of false pairs that are scored, and entities of a block."""


def against_components() -> None:
    """Scores that are right: log-odds of a normal model."""
    print_header(HEADINGS)
    for strength, true, false, entities in MODELS:
        made = scored_pairs(RECORDS, strength, true=true, false=false, entities=entities)
        table, nodes = table_of(made), [f"record-{i}" for i in range(RECORDS)]
        compare(
            f"strength {strength:g}, scored: {true:.0%} of true, {false:.0%} of false pairs",
            made.truth,
            made.left,
            made.right,
            made.match_weight,
            lambda t, table=table, nodes=nodes: cluster(table, nodes=nodes, threshold=t),  # type: ignore[misc]
        )


FIELDS = {
    "splink, five fields": ("first_name", "surname", "dob", "city", "phone"),
    "splink, names and city": ("first_name", "surname", "city"),
    "splink, an email that repeats the name": ("first_name", "surname", "dob", "city", "email"),
}


def against_splink() -> None:
    """Scores as splink makes them, trained on the records themselves."""
    print_header(HEADINGS)
    made = people(2000)
    ids = made.columns["unique_id"]
    place = pa.array(ids)
    for name, fields in FIELDS.items():
        pairs = predictions(made, fields)
        table = pairs.as_pyarrow_table()
        u, v = (
            np.asarray(pc.index_in(table[column], place))
            for column in ("unique_id_l", "unique_id_r")
        )
        compare(
            name,
            made.truth,
            u,
            v,
            np.asarray(table["match_weight"]),
            lambda t, pairs=pairs: cluster(pairs, nodes=ids, threshold=t),  # type: ignore[misc]
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("scale", "again", "components", "splink"))
    parser.add_argument("--records", type=int, nargs="+", default=[50_000], metavar="N")
    arguments = parser.parse_args()
    if arguments.what == "scale":
        scale(sorted(arguments.records))
    elif arguments.what == "again":
        again(arguments.records)
    elif arguments.what == "components":
        against_components()
    else:
        against_splink()


if __name__ == "__main__":
    main()
