"""Solves in threads, and in forked and spawned workers."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from families import planar
from oracles import random_graph

from bdcc_jax import Options, solve

ROOT = Path(__file__).parents[1]
GRAPHS = [random_graph(np.random.default_rng(seed), 12, 0.8) for seed in range(3)] + [
    planar(np.random.default_rng(seed), 7, 7) for seed in range(3)
]
ENGINES = {
    "packing": Options(presolve=False),
    "reference": Options(engine="reference", presolve=False),
    "paper": Options.paper(),
    "pdlp": Options(engine="pdlp", presolve=False),
}


def facts(result):
    return result.status, result.labels.tolist(), result.lower_bound


@pytest.mark.parametrize("engine", ENGINES)
def test_two_threads(engine):
    options = ENGINES[engine]
    alone = [facts(solve(graph, options=options)) for graph in GRAPHS]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda graph: facts(solve(graph, options=options)), GRAPHS))
    assert together == alone


def test_a_spawned_worker():
    """Instances and options go there, results come back."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = pool.submit(solve, GRAPHS[0], options=ENGINES["paper"]).result()
    assert facts(result) == facts(solve(GRAPHS[0], options=ENGINES["paper"]))


FORK = """
import os, sys, warnings
import bdcc_jax
from bdcc_jax import Options

warnings.simplefilter("error")  # JAX warns of a fork once it has been started
W = [[0, 2, -1, 1], [2, 0, 1, -3], [-1, 1, 0, 1], [1, -3, 1, 0]]


def child(engine):
    pid = os.fork()
    if pid == 0:
        try:
            options = Options(engine=engine, presolve=False, heuristics=False)
            code = 0 if bdcc_jax.solve(W, options=options).status == "optimal" else 1
        except RuntimeError as error:
            code = 3 if "was forked" in str(error) else 4
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


for engine in ("packing", "reference", "auto"):
    bdcc_jax.solve(W, options=Options(engine=engine))
print([child(engine) for engine in ("packing", "reference", "auto", "pdlp")])
bdcc_jax.solve(W, options=Options(engine="pdlp", presolve=False, heuristics=False))
warnings.simplefilter("ignore")
print([child(engine) for engine in ("packing", "reference", "auto", "pdlp")])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_workers():
    """The engines of the CPU work after a fork; those on JAX do unless it had been started."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.splitlines() == ["[0, 0, 0, 0]", "[0, 0, 0, 3]"], done.stderr
