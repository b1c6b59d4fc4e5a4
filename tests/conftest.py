import signal
from pathlib import Path

import pytest
from hypothesis import settings

from bdcc_jax.base import compilation_cache
from bdcc_jax.cli.first_use import PARTS

HERE = Path(__file__).parent
FAST = [
    "base",
    "doctor",
    "instance",
    "lp/test_fixing.py",
    "lp/test_lagrangian.py",
    "lp/test_master.py",
    "io/test_convert.py",
    "io/test_io.py",
    "presolve/test_presolve.py::test_any_graph",
    "presolve/test_presolve.py::test_large_planar_graph",
    "proofs/test_certificate.py",
    "proofs/test_parts.py",
    "separation/test_odd_wheels.py",
    "separation/test_packing.py",
    "primal",
    "search/test_bounds.py",
    "search/test_exactness.py",
    "show/test_plots.py",
    "graphs",
    "image",
    "cli/test_cli_verify.py",
    "cli/test_cli.py::test_help",
    "cli/test_cli.py::test_process_bad_input",
    "layers/test_layers.py::TestRelaxation",
    "tables/test_scores.py",
    "benchmarks/test_benchmarks.py::test_ratios",
    "test_architecture.py",
    "test_licences.py",
    "test_metrics.py",
    "test_readme.py",
    "test_solve.py::test_public_names",
    "test_solve.py::test_result",
    "test_weights.py",
]
"""Folders, files and beginnings of names: something of every folder, in less than a minute."""

settings.register_profile("no clock", deadline=None)  # how long an example takes is no matter
settings.load_profile("no clock")


def pytest_collection_modifyitems(items):
    for item in items:
        if not item.path.is_relative_to(HERE) or item.get_closest_marker("slow"):
            continue
        name = item.nodeid.partition("tests/")[2]
        if any(name.startswith(start) for start in FAST):
            item.add_marker(pytest.mark.fast)


@pytest.fixture(autouse=True, scope="session")
def kernels_are_kept():
    """From run to run, as by every solve on a device: also those that tests compile themselves."""
    compilation_cache.enable()


@pytest.fixture(autouse=True, scope="session")
def loops_are_compiled(request):
    """Where the command line is tested: on the first day it says something of it (first_use)."""
    if any(item.path.is_relative_to(HERE / "cli") for item in request.session.items):
        for compile_part in PARTS.values():
            compile_part()


@pytest.fixture(autouse=True, scope="session")
def sigint_is_not_ignored():
    """As it is, here and in children, where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
