"""Ctrl-C at any moment of a solve, in the library: the best clustering is returned."""

import os
import pkgutil
import signal
import sys
import threading
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from families import wheel
from moments import AT_THE_END, At, moments
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Options

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to this process")
SMALL = random_graph(np.random.default_rng(3), 9, 1.0)
OPEN = wheel(31, 1.1)  # two rounds of the LP over cycles never prove an optimum of it


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("bdcc_jax.lp.master:Master.solve", 1),
        ("bdcc_jax.lp.master:Master.solve", 2),
        ("bdcc_jax.separation.packing:PackingEngine.separate", 1),
        ("bdcc_jax.separation.packing:PackingEngine.separate", 2),
        ("bdcc_jax.primal.heuristics:local_search", 1),
        ("bdcc_jax.search.strategy:presolve", 1),
    ],
)
def test_ctrl_c_returns_the_best_so_far(place, call, monkeypatch):
    """A real signal while HiGHS or compiled code is at work: it counts at the latest after that."""
    module, _, name = place.partition(":")
    owner, _, name = name.rpartition(".")
    owner = pkgutil.resolve_name(f"{module}:{owner}")
    real, calls = getattr(owner, name), count(1)

    def interrupted(*arguments, **settings):
        if next(calls) != call:
            return real(*arguments, **settings)
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
        thread.start()
        try:
            return real(*arguments, **settings)
        finally:
            thread.join()

    monkeypatch.setattr(owner, name, interrupted)
    options = Options(presolve=name == "presolve", odd_wheels=False)
    result = bdcc_jax.solve(OPEN, options=options)
    assert next(calls) > call
    assert result.status == "interrupted"
    assert result.objective == OPEN.objective(result.labels)
    assert result.lower_bound <= result.objective


KINDS = {
    "default": {},
    "no presolve": {"options": Options(presolve=False)},
    "paper": {"options": Options.paper()},
}


@pytest.mark.parametrize(
    ("kind", "progress"),
    [*((kind, False) for kind in KINDS), ("no presolve", "plain"), ("no presolve", "live")],
)
def test_ctrl_c_at_any_moment_returns_a_result(kind, progress, tmp_path, capsys):
    def run():
        return bdcc_jax.solve(SMALL, progress=progress, **KINDS[kind])

    optimum = run().objective
    *ks, last = moments(run, 40)
    for k in ks:
        result = None
        with suppress(KeyboardInterrupt), At(k):
            result = run()
        if result is None:
            assert k > last - AT_THE_END
            continue
        assert result.status in ("interrupted", "optimal"), k
        assert result.objective == SMALL.objective(result.labels)
        assert result.lower_bound <= optimum + result.tolerance
        assert result.objective >= optimum - result.tolerance
    for thread in threading.enumerate():
        if "rich" in type(thread).__module__:  # told to end, or it would draw forever
            thread.join()


def test_ctrl_c_at_any_moment_with_a_checkpoint(tmp_path):
    path, number = tmp_path / "run.npz", count(1)

    def run():
        path.unlink(missing_ok=True)
        return bdcc_jax.solve(SMALL, checkpoint=path, options=Options(presolve=False))

    optimum = run().objective
    *ks, last = moments(run, 30)
    for k in ks:
        with suppress(KeyboardInterrupt), At(k):
            assert run().status in ("interrupted", "optimal")
            k = last
        assert k > last - AT_THE_END
        again = bdcc_jax.solve(SMALL, checkpoint=path, options=Options(presolve=False))
        assert (again.status, again.objective) == ("optimal", pytest.approx(optimum)), next(number)


@pytest.mark.parametrize(
    "place",
    [
        "bdcc_jax.attempt.Clock",
        "bdcc_jax.show.progress.view",
        "bdcc_jax.attempt.Job",
        "bdcc_jax.show.progress.ProgressPrinter.start",
        "bdcc_jax.show.progress.ProgressPrinter.close",
        "bdcc_jax.attempt.Bounds",
        "bdcc_jax.search.strategy.presolve",
        "bdcc_jax.primal.heuristics.local_search",
        "bdcc_jax.search.strategy.Benders",
        "bdcc_jax.attempt.release_scheduler",
        "bdcc_jax.attempt.Result",
    ],
)
def test_ctrl_c_in_a_place(place, monkeypatch, capsys):
    """Which may be compiled, or import for a while: it is pressed as it is entered."""
    module, _, name = place.rpartition(".")
    owner = pkgutil.resolve_name(module)
    real, calls = getattr(owner, name), count()

    def pressed(*arguments, **settings):
        if next(calls) == 0:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(owner, name, pressed)
    options = Options(presolve=place.endswith("presolve"))
    result = bdcc_jax.solve(SMALL, progress="plain", options=options)
    assert next(calls) > 0
    assert result.status == "interrupted" or place.endswith(
        ("Result", "close", "release_scheduler")
    )
    assert result.objective == SMALL.objective(result.labels)


def test_nothing_is_returned_before_the_arguments_are_checked(monkeypatch):
    def press(_, columns):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["bdcc_jax.solve"], "as_graph", press)
    with pytest.raises(KeyboardInterrupt):
        bdcc_jax.solve(SMALL)
