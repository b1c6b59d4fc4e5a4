"""Everything about some solves but the time they took."""

from dataclasses import asdict

import numpy as np
from families import planar, wheels_in_a_mesh
from oracles import random_graph

from bdcc_jax import Options, solve

OPTIONS = {
    "default": Options(),
    "pieces": Options(presolve=False, odd_wheels=False),
    "paper": Options.paper(),
    "reference": Options(engine="reference", tau=0.5, presolve=False),
    "pdlp": Options.paper(engine="pdlp"),
}


def graphs():
    rng = np.random.default_rng(7)
    return [
        random_graph(rng, 14, 1.0),
        random_graph(rng, 16, 0.8, "ties"),
        planar(rng, 9, 9),
        wheels_in_a_mesh(rng, 6, 6, "normal"),
    ]


def facts(result):
    """Everything but times."""
    rounds = [
        {name: value for name, value in asdict(record).items() if not name.endswith("seconds")}
        for record in result.history
    ]
    return [str(result.status), result.labels.tolist(), result.lower_bound, rounds]


def everything(names):
    return [facts(solve(g, options=OPTIONS[name], seed=3)) for name in names for g in graphs()]
