"""Clusterings at equal times: what counts as behind, and the peers' side."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import anytime, anytime_peers
from benchmarks.instances import instance, planted


def record(name, method, *runs):
    found = [{"cpu": seconds, "wall": 2 * seconds, "cost": cost} for seconds, cost in runs]
    return {"instance": name, "method": method, "n": 5, "m": 7, "runs": found}


def test_who_is_behind_and_when():
    records = [
        record("a", "bdcc_jax", (0.05, -10.0), (3.0, -20.0)),
        record("a", "leidenalg", (0.5, -10.005), (0.6, -9.0)),
        record("b", "bdcc_jax", (0.5, -5.0)),
        record("b", "bioimage-cpp", (0.05, -4.0), (4.0, -6.0)),
        record("c", "leidenalg", (0.5, -1.0)),
    ]
    text = anytime.report(records, "cpu").splitlines()
    assert [line.split(" |")[0] for line in text[2:4]] == ["| a", "| b"]
    assert text[-4:] == [
        "0.1 s: behind on 1 of 2, by more than 0.1 % on 1",
        "1 s: behind on 1 of 2, by more than 0.1 % on 0",
        "5 s: behind on 1 of 2, by more than 0.1 % on 1",
        "20 s: behind on 1 of 2, by more than 0.1 % on 1",
    ]
    assert "1 s: behind on 0 of 2" in anytime.report(records[2:4] + records[:1], "wall")


def test_nobody_is_better_than_what_is_proven():
    """The peers were not run for that long: what they have is no figure of theirs."""
    own = record("a", "bdcc_jax", (0.05, -10.0), (0.3, -20.0))
    own["runs"][-1]["optimal"] = True
    records = [own, record("a", "leidenalg", (0.08, -15.0), (0.5, -20.001))]
    assert anytime.report(records, "cpu", (0.1, 1.0)).splitlines()[-2:] == [
        "0.1 s: behind on 1 of 1, by more than 0.1 % on 1",
        "1 s: behind on 0 of 1, by more than 0.1 % on 0",
    ]


def test_a_peer_is_run_and_priced_by_a_program_of_its_own(tmp_path):
    """With a peer that joins all, in place of a package that is not here."""
    graph = planted(100)
    np.savez(tmp_path / "g.npz", n=graph.n, edges=graph.edges, weights=graph.weights)
    script = Path(anytime_peers.__file__)
    stand_in = (
        f"import runpy, sys, numpy; sys.argv = ['x', 'x', {str(tmp_path / 'g.npz')!r}, '0']\n"
        f"peers = runpy.run_path({str(script)!r})\n"
        "peers['PEERS']['x'] = lambda n, edges, weights: iter([lambda: numpy.arange(n)])\n"
        "peers['main'](*sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", stand_in], stdout=subprocess.PIPE, check=True)
    (run,) = map(json.loads, done.stdout.splitlines())
    assert run["cost"] == pytest.approx(graph.weights.sum())
    assert min(run["cpu"], run["wall"]) >= 0.0


def test_planted_networks_are_instances():
    graph = instance("planted/400").load()
    assert (graph.n, planted(400).weights.tolist()) == (400, graph.weights.tolist())
    assert 0.4 < graph.positive.mean() < 0.6
