"""Every benchmark runs in a clone with nothing beside it, here in its smallest form."""

import importlib
import re
from pathlib import Path

import pytest

from benchmarks import instances

FOLDER = Path(instances.__file__).parent
SMALLEST = {
    "affinities": "--sizes 24",
    "anytime": "--only planted/1000 --times 0.05 --out anytime.jsonl",
    "branching": "--count 1 --time-limit 1",
    "card_model": "",
    "cells": "--seeds 1",
    "cold_start": "--nodes 30 --repeat 1",
    "communities": "--time-limit 1 --mixing",
    "constraints": "planar/100",
    "dual_ascent": "planar/3000 --seconds 1.1",
    "engines": "planar/100",
    "exact": "--family planar --max-nodes 1000",
    "fuzz": "--inputs 20",
    "heuristics": "--planar 200 --repeats 1",
    "large": "--sizes 400 900 --block 100 --workers 1 --json large.json",
    "lifted": "--size 2d --time-limit 1",
    "magnanti_wong": "",
    "models": "--time-limit 0.5",
    "proofs": "--name 60 --verify",
    "scale": "--sizes 200",
    "soak": "--count 4 --host",
    "subproblems": "--instances 1 --batch 4",
    "tables": "scale --records 200",
    "throughput": "--most 2 --engines packing",
    "volumes": "--shape 8 40 40 --folder volume --workers 1",
}
SLOW = {
    "branching", "cells", "cold_start", "communities", "engines", "exact", "lifted",
    "magnanti_wong", "models", "soak", "subproblems",
}  # fmt: skip
ELSEWHERE = {"__main__": "test_experiments.py", "gpu_compiler": "test_gpu_compiler.py"}
"""Benchmarks that other tests run."""

HELPERS = {"anytime_peers", "ortools_flow"}
"""What benchmarks start, with files of theirs."""


def test_none_is_forgotten():
    commands = {
        path.stem for path in FOLDER.glob("*.py") if 'if __name__ == "__main__"' in path.read_text()
    }
    assert commands - HELPERS == SMALLEST.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in SMALLEST],
)
def test_runs(name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BDCC_DATA", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))  # for the processes that it starts
    monkeypatch.setattr(instances, "DATA", None)
    monkeypatch.setattr("sys.argv", [name, *SMALLEST[name].split()])
    try:
        code = importlib.import_module(f"benchmarks.{name}").main()
    except SystemExit as end:
        code = end.code
    assert not code
    printed = capsys.readouterr().out
    assert re.search(r"\d", printed)
