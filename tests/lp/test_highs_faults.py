"""HiGHS may end with any status, at any time: the bounds stay valid and the status honest."""

from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from families import wheel
from oracles import brute_force, random_graph

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.base.highs import release_scheduler
from bdcc_jax.lp.integer_master import IntegerMaster
from bdcc_jax.lp.master import Master, MasterFailed
from bdcc_jax.lp.rows import Rows

STATUSES = [
    status
    for name, status in vars(highspy.HighsModelStatus).items()
    if name.startswith("k") and status != highspy.HighsModelStatus.kOptimal
]
GRAPHS = [random_graph(np.random.default_rng(3), 9, 1.0), wheel(5, np.pi, -np.pi)]
OPTIONS = {
    "lp": Options(presolve=False, heuristics=False, rounding=()),
    "ilp": Options(presolve=False, integer="whole", odd_wheels=False, heuristics=False),
}
MASTERS = {"lp": Master, "ilp": IntegerMaster}


def inject(monkeypatch, status, phase, times):
    """Let HiGHS end with this status so many times in every LP, or every ILP."""
    run = Master._run_once
    ran = []

    def run_once(self, clock):
        honest = run(self, clock)
        if type(self) is not MASTERS[phase] or len(ran) >= times:
            return honest
        ran.append(1)
        self._highs.clearSolver()  # nothing of what it has found may be used
        return status

    monkeypatch.setattr(Master, "_run_once", run_once)
    return ran


@pytest.mark.parametrize("phase", ["lp", "ilp"])
@pytest.mark.parametrize("status", STATUSES, ids=lambda status: status.name)
def test_any_status_is_survived(monkeypatch, status, phase):
    """As long as one of the remedies helps, the optimum is still proven."""
    for graph in GRAPHS:
        with monkeypatch.context() as patch:
            ran = inject(patch, status, phase, len(MASTERS[phase].REMEDIES))
            result = solve(graph, options=OPTIONS[phase])
        assert phase == "lp" or graph is GRAPHS[0] or ran
        assert result.status == "optimal"
        assert result.objective == pytest.approx(brute_force(graph), abs=1e-9)


@pytest.mark.parametrize("phase", ["lp", "ilp"])
@pytest.mark.parametrize("status", STATUSES, ids=lambda status: status.name)
def test_any_status_for_ever_leaves_valid_bounds(monkeypatch, status, phase):
    """Without an ILP solver the tree over the LP still finds and proves the optimum."""
    graph = GRAPHS[1]
    with monkeypatch.context() as patch:
        ran = inject(patch, status, phase, np.inf)
        result = solve(graph, options=OPTIONS[phase])
    assert ran
    assert result.status == ("numerical" if phase == "lp" else "optimal")
    assert result.objective == pytest.approx(graph.objective(result.labels))
    assert graph.negative_sum < result.lower_bound <= brute_force(graph) <= result.objective


@pytest.mark.parametrize("options", [Options.paper(), Options(engine="reference")])
def test_a_highs_that_never_works_at_all(monkeypatch, options):
    graph = GRAPHS[0]
    error = highspy.HighsModelStatus.kSolveError
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: error)
    result = solve(graph, options=options)
    assert result.status == "numerical"
    assert result.lower_bound <= brute_force(graph) <= result.objective


@pytest.mark.parametrize("x", [[np.nan, 0.0], [0.0]])
def test_what_is_no_solution_is_not_taken_for_one(monkeypatch, x):
    master = Master(np.array([1.0, -1.0]))
    master.add(Rows.from_cycles([np.array([1, 0])]))
    solution = SimpleNamespace(col_value=x, dual_valid=False)
    monkeypatch.setattr(highspy.Highs, "getSolution", lambda _: solution)
    with pytest.raises(MasterFailed):
        master.solve(Clock(None))


@pytest.mark.parametrize("options", [Options(), Options.paper()])
def test_other_users_of_highs_in_the_same_thread(options):
    """HiGHS refuses to run with another number of threads than its scheduler was started with."""

    def others(threads):
        highs = highspy.Highs()
        highs.silent()
        highs.setOptionValue("threads", threads)
        highs.addVar(0.0, 1.0)
        return highs.run()

    graph = random_graph(np.random.default_rng(0), 12, 1.0)
    release_scheduler()
    try:
        assert others(2) == highspy.HighsStatus.kOk
        result = solve(graph, options=options)
        assert result.status == "optimal"
        assert others(4) == highspy.HighsStatus.kOk
    finally:
        release_scheduler()
