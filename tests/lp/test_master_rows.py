"""The life of rows in the master, how its LPs are solved, and how long they may take."""

import highspy
import numpy as np
import pytest
from families import planar, wheel
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp import master as master_module
from bdcc_jax.lp.integer_master import IntegerMaster
from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.master import Master
from bdcc_jax.lp.rows import Rows
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.packing import PackingEngine

FOREVER = Clock(None)


def rows_in_highs(master):
    """The rows as HiGHS has them, dense, with their upper bounds."""
    lp = master._highs.getLp()
    matrix = np.zeros((lp.num_row_, lp.num_col_))
    a = lp.a_matrix_
    starts, indices, values = np.array(a.start_), np.array(a.index_), np.array(a.value_)
    by_column = a.format_ == highspy.MatrixFormat.kColwise
    outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    matrix[(indices, outer) if by_column else (outer, indices)] = values
    return matrix, np.array(lp.row_upper_)


def check_bookkeeping(master, m):
    matrix, upper = rows_in_highs(master)
    rows = master.rows
    expected = np.zeros((len(rows), m))
    expected[rows.row_of_entry(), rows.indices] = rows.values
    assert matrix.tolist() == expected.tolist()
    assert upper.tolist() == rows.upper.tolist()
    assert master.n_rows == len(rows) == len(master._age)


def cycle_lp(graph, *, drop, check=False):
    """The value of the LP over all cycle inequalities; how many rows were dropped on the way."""
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    master, dropped, last = Master(graph.weights), 0, -np.inf
    while True:
        x = master.solve(FOREVER)
        assert len(master.multipliers) == master.n_rows
        relaxed = Lagrangian.of(graph.weights, master.rows, master.multipliers)
        assert master.proven_bound == relaxed.bound
        assert master.proven_bound >= last - 1e-6 * abs(last)
        last = master.proven_bound
        separation = engine.separate(x, FOREVER)
        if separation.satisfied:
            return master, dropped
        if drop:
            before = master.n_rows
            master.drop_slack_rows(x)
            dropped += before - master.n_rows
        master.add(separation.rows)
        if check:
            check_bookkeeping(master, graph.m)


@pytest.mark.parametrize("seed", range(4))
def test_dropping_slack_rows_changes_the_books_of_highs_too_and_not_the_lp(seed, monkeypatch):
    monkeypatch.setattr(master_module, "WORTH_DROPPING", 0.0)
    monkeypatch.setattr(master_module, "SLACK_FOR", 1)
    rng = np.random.default_rng(seed)
    graph = planar(rng, 10, 10) if seed % 2 else random_graph(rng, 14, 1.0)
    plain, _ = cycle_lp(graph, drop=False)
    thrifty, dropped = cycle_lp(graph, drop=True, check=True)
    assert dropped > 0 or seed % 2  # the planar ones are done before a row is old
    assert thrifty.proven_bound == pytest.approx(plain.proven_bound, rel=1e-6)


def test_with_the_usual_settings_rows_are_dropped_too():
    total = 0
    for seed in range(4):
        graph = random_graph(np.random.default_rng(seed), 24, 1.0)
        thrifty, dropped = cycle_lp(graph, drop=True, check=True)
        plain, _ = cycle_lp(graph, drop=False)
        assert thrifty.proven_bound == pytest.approx(plain.proven_bound, rel=1e-6)
        total += dropped
    assert total > 0


def test_the_bound_stays_valid_after_rows_are_dropped(monkeypatch):
    monkeypatch.setattr(master_module, "WORTH_DROPPING", 0.0)
    monkeypatch.setattr(master_module, "SLACK_FOR", 1)
    for seed in range(6):
        graph = random_graph(np.random.default_rng(seed), 8, 1.0)
        master, _ = cycle_lp(graph, drop=True)
        optimum = brute_force(graph)
        assert master.proven_bound <= optimum
        relaxed = Lagrangian.of(graph.weights, master.rows, master.multipliers)
        costs = all_cuts(graph) @ relaxed.reduced + relaxed.constant
        assert (costs <= all_cuts(graph) @ graph.weights + 1e-9).all()


def test_only_rows_that_were_slack_for_long_are_dropped_and_only_if_the_bound_has_risen():
    weights = np.array([-2.0, 1.0, 1.0, -1.0, 5.0, 5.0])
    tight, slack = np.array([0, 1, 2]), np.array([3, 4, 5])
    master = Master(weights)
    master.add(Rows.from_cycles([tight, slack]))
    x = master.solve(FOREVER)
    loose = np.array([1.0, 0.5, 0.5, 0.0, 1.0, 1.0])  # the second row is slack, the first is not
    assert master.rows.violation(loose).tolist() == [0.0, -2.0]
    master.drop_slack_rows(loose)
    assert master.n_rows == 2
    master.drop_slack_rows(x)  # not slack: its age starts again
    master.drop_slack_rows(loose)
    assert master.n_rows == 2
    master.drop_slack_rows(loose)
    assert master.rows.indices.tolist() == tight.tolist()
    check_bookkeeping(master, 6)
    master.add(Rows.from_cycles([slack]))
    for _ in range(5):  # the bound is where it was: rows stay, or the loop might not end
        master.drop_slack_rows(loose)
    assert master.n_rows == 2
    master.solve(FOREVER)
    assert len(master.multipliers) == 2


@pytest.mark.parametrize("small", [0, 3000], ids=["in a thread", "directly"])
@pytest.mark.parametrize("seed", range(3))
def test_interior_point_and_simplex_agree(seed, small, monkeypatch):
    monkeypatch.setattr(master_module, "SMALL", small)
    rng = np.random.default_rng(seed)
    graph = planar(rng, 8, 8)
    rows = cycle_lp(graph, drop=False)[0].rows
    simplex = Master(graph.weights)
    simplex.add(rows)
    simplex.solve(FOREVER)
    interior = Master(graph.weights)
    interior._prefers_interior = True
    interior.add(rows)
    solvers = record_solvers(interior, monkeypatch)
    x = interior.solve(FOREVER)
    assert solvers == ["ipm"]
    assert interior.proven_bound == pytest.approx(simplex.proven_bound, rel=1e-6)
    assert graph.weights @ x == pytest.approx(simplex.proven_bound, rel=1e-6)
    assert interior.rows.violation(x).max() <= 1e-6
    assert len(interior.multipliers) == interior.n_rows


def record_solvers(master, monkeypatch):
    """Which method each run of HiGHS uses."""
    used, run = [], master._run_once

    def recorded(clock):
        used.append(master._highs.getOptionValue("solver")[1])
        return run(clock)

    monkeypatch.setattr(master, "_run_once", recorded)
    return used


class Impatient(Master):
    """The simplex method may take a single iteration, whatever the master allows."""

    def _run_once(self, clock):
        if self._highs.getOptionValue("solver")[1] == "simplex":
            self._highs.setOptionValue("simplex_iteration_limit", 1)
        return super()._run_once(clock)


def test_a_simplex_method_that_stalls_hands_over_to_interior_point(monkeypatch):
    graph = planar(np.random.default_rng(1), 8, 8)
    rows = cycle_lp(graph, drop=False)[0].rows
    patient, impatient = Master(graph.weights), Impatient(graph.weights)
    for master in (patient, impatient):
        master.add(rows)
    used = record_solvers(impatient, monkeypatch)
    patient.solve(FOREVER)
    impatient.solve(FOREVER)
    assert used == ["simplex", "ipm"]
    assert impatient.proven_bound == pytest.approx(patient.proven_bound, rel=1e-6)
    used.clear()
    impatient.add(rows)  # from here on at once, where there are many new rows
    impatient.solve(FOREVER)
    assert used == ["ipm"]
    assert impatient._highs.getOptionValue("solver")[1] == "simplex"
    assert impatient._highs.getOptionValue("presolve")[1] == "off"


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_a_solve_with_interior_point_only_is_exact(kind, monkeypatch):
    run = Master._run

    def by_interior_point(self, clock):
        self._prefers_interior, self._new_rows = True, self.n_rows + 1
        return run(self, clock)

    monkeypatch.setattr(Master, "_run", by_interior_point)
    rng = np.random.default_rng(5)
    for _ in range(6):
        graph = random_graph(rng, 9, 1.0, kind)
        result = solve(graph, options=Options(presolve=False))
        assert result.status == "optimal"
        assert result.objective == pytest.approx(brute_force(graph))


def test_an_iteration_limit_of_the_lp_does_not_stop_the_ilp():
    """A large wheel, so that the ILP has something to do."""
    graph = wheel(31, 1.01)
    master = IntegerMaster(graph.weights, Rows.empty())
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    master._highs.setOptionValue("simplex_iteration_limit", 1)
    *_, last = cutting_planes(master, [engine.separate], FOREVER)
    assert last.converged
    assert graph.weights @ last.x == pytest.approx(-30 + 15 * 1.01)  # one rim edge is kept


@pytest.mark.parametrize("integral", [False, True], ids=["lp", "ilp"])
def test_the_time_limit_counts_from_each_run(integral, monkeypatch):
    """HiGHS adds up the time of all LPs, so what was spent is added to what remains."""
    weights, rows = np.array([-1.0, 2.0, 3.0]), Rows.from_cycles([np.array([0, 1, 2])])
    master = IntegerMaster(weights, rows) if integral else Master(weights)
    monkeypatch.setattr(master._highs, "getRunTime", lambda: 1000.0, raising=False)
    clock = Clock(None)
    monkeypatch.setattr(Clock, "remaining", 7.0)
    master.solve(clock)
    limit = master._highs.getOptionValue("time_limit")[1]
    assert limit == (7.0 if integral else 1007.0)


def test_highs_adds_up_the_time_of_lps():
    """What the master relies on; if this fails, HiGHS has changed and the master must too.

    An LP that may take as long as five runs of it took has no time left after these five.
    """
    graph = planar(np.random.default_rng(1), 12, 12)
    master = Master(graph.weights)
    master.add(cycle_lp(graph, drop=False)[0].rows)
    for _ in range(5):
        master._highs.clearSolver()
        master.solve(FOREVER)
    master._highs.clearSolver()
    master._highs.setOptionValue("time_limit", master._highs.getRunTime())
    master._highs.run()
    assert master._highs.getModelStatus() == highspy.HighsModelStatus.kTimeLimit


def test_a_master_knows_its_rows_in_any_order():
    graph = wheel(5)
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    rows = engine.separate(graph.negative.astype(float), FOREVER).rows
    master = Master(graph.weights)
    assert master.has(Rows.empty())
    assert not master.has(rows)
    master.add(rows)
    backwards = [np.append(c[0], c[:0:-1]) for c in np.split(rows.indices, rows.starts[1:-1])]
    assert master.has(rows)
    assert master.has(Rows.from_cycles(backwards[::-1]))
    other = Rows(rows.starts, rows.indices, 2.0 * rows.values, rows.upper)
    assert not master.has(Rows.concatenate([rows, other.take(np.arange(len(rows)) == 0)]))
    assert not master.has(Rows(rows.starts, rows.indices, rows.values, rows.upper + 1.0))
