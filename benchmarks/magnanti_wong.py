"""Rounds of the paper's method with and without Magnanti-Wong rows.

    python -m benchmarks.magnanti_wong [FILE ...]

Prints one Markdown row an instance (without a file: of small pictures): rounds until the proven
optimum for tau = none, .01, .5, .99 with the reference engine, and for tau = .5 with the batched
one, by price and by row.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import bdcc_jax
from bdcc_jax import Options, PDLPOptions

from .instances import Instance, instance

NAMES = ("pictures/coins-100", "pictures/coffee-200")

VARIANTS = {
    **{f"tau {tau}": Options.paper(tau, engine="reference") for tau in (None, 0.01, 0.5, 0.99)},
    **{
        f"tau 0.5, pdlp by {kind}": Options.paper(engine="pdlp", pdlp=PDLPOptions(activity=kind))
        for kind in ("price", "row")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--time-limit", type=float, default=600.0)
    arguments = parser.parse_args()
    print("| instance | nodes | edges | " + " | ".join(VARIANTS) + " |")
    print("|" + "---|" * (3 + len(VARIANTS)))
    given = [Instance("", path.name, partial(bdcc_jax.read, path)) for path in arguments.files]
    for each in given or map(instance, NAMES):
        graph = each.load()
        cells = []
        for options in VARIANTS.values():
            result = bdcc_jax.solve(graph, options=options, time_limit=arguments.time_limit)
            rows = result.history[-1].rows
            cells.append(f"{len(result.history)} rounds, {rows} rows ({result.status})")
        print(f"| {each.name} | {graph.n} | {graph.m} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
