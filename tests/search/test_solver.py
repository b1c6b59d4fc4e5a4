"""The whole solver: every combination of its parts against independent optima, and every stop."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from families import (
    chain_of_wheels,
    joined,
    optimum,
    planar,
    small_instances,
    wheel,
    wheels_in_a_mesh,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, partitions, random_graph

from bdcc_jax import Graph, Options, solve
from bdcc_jax.lp import fixing
from bdcc_jax.proofs import parts as parts_module
from bdcc_jax.search import solver as solver_module
from bdcc_jax.search.benders import Benders
from bdcc_jax.search.bounds import Bounds, allowed_excess
from bdcc_jax.search.solver import Solver

COMBINATIONS = [
    {"presolve": a, "heuristics": b, "integer": c, "odd_wheels": d, "engine": e}
    for a, b, c, d, e in product(
        (True, False), (True, False), ("pieces", "whole"), (True, False), ("packing", "reference")
    )
]
BARE = Options(presolve=False, heuristics=False, odd_wheels=False, rounding=())
WHOLE = Options(
    presolve=False, heuristics=False, odd_wheels=False, integer="whole", engine="reference"
)


@cache
def cases(seed):
    """Instances of all families and their optima."""
    return {name: (graph, optimum(graph)) for name, graph in small_instances(seed).items()}


def slack_of(graph):
    return 1e-9 * (1 + np.abs(graph.weights).sum())


def check_bounds(graph, result, best):
    """Valid at the end and in every round, and never getting worse."""
    slack = slack_of(graph)
    assert result.objective == graph.objective(result.labels)
    assert result.lower_bound <= best + slack
    assert result.objective >= best - slack
    lower = [record.lower_bound for record in result.history] + [result.lower_bound]
    upper = [record.upper_bound for record in result.history] + [result.objective]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert max(lower) <= best + slack
    assert [record.number for record in result.history] == list(range(1, len(lower)))


def check_optimal(graph, result, best):
    check_bounds(graph, result, best)
    assert result.status == "optimal"
    assert abs(result.objective - best) <= slack_of(graph)
    assert result.tolerance <= allowed_excess(graph.weights)


def label(combination):
    return " ".join(
        name if value is True else value
        for name, value in combination.items()
        if value is not False
    )


@pytest.mark.parametrize("combination", COMBINATIONS, ids=label)
def test_every_combination_of_options_finds_the_optimum(combination):
    for seed in range(3):
        for graph, best in cases(seed).values():
            check_optimal(graph, solve(graph, options=Options(**combination), seed=seed), best)


@pytest.mark.slow
@pytest.mark.parametrize("combination", COMBINATIONS, ids=label)
def test_every_combination_of_options_on_many_instances(combination):
    for seed in range(3, 25):
        for graph, best in cases(seed).values():
            check_optimal(graph, solve(graph, options=Options(**combination), seed=seed), best)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.sampled_from(COMBINATIONS))
def test_any_random_graph_with_any_options(seed, n, combination):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, float(rng.uniform(0.3, 1.0)), ("normal", "ties")[seed % 2])
    scaled = Graph(n, graph.edges, graph.weights * 10.0 ** rng.integers(-6, 7))
    check_optimal(scaled, solve(scaled, options=Options(**combination)), optimum(scaled))


# Instances whose gap is in spots: the steps after the LP have work to do.


def count_calls(monkeypatch, *methods):
    """Count the calls of some methods of the solver, which work as before."""
    calls = dict.fromkeys(methods, 0)
    for name in methods:
        owner = Benders if name in ("branch", "integrate") else Solver
        original = getattr(owner, name)

        def counted(self, *args, name=name, original=original, **kwargs):
            calls[name] += 1
            return original(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
    return calls


STEPS = (
    "_fix_and_solve",
    "_open_regions",
    "_bound_parts",
    "_solve_pieces",
    "_solve_instead",
    "branch",
    "integrate",
)


def spotted_instances():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        kind = ("normal", "ties")[seed % 2]
        yield wheels_in_a_mesh(rng, 4 + seed % 3, 6, kind)
        yield chain_of_wheels(rng.choice([3, 5, 7], 4).tolist(), rng.choice([-0.25, 0.25, 0.5]))
        yield joined([wheels_in_a_mesh(rng, 3, 4, kind), wheel(5, 0.9), wheel(7, 1.1)])
    yield random_graph(np.random.default_rng(14), 14, 0.8)
    yield random_graph(np.random.default_rng(59), 17, 0.6, "ties")


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (
            BARE,
            {
                "_open_regions",
                "_bound_parts",
                "_solve_pieces",
                "_solve_instead",
                "branch",
            },
        ),
        (
            Options(presolve=False, odd_wheels=False),
            {"_fix_and_solve", "_open_regions", "_bound_parts"},
        ),
        (Options(odd_wheels=False), {"_solve_pieces", "_solve_instead"}),
        (Options(), {"_solve_instead"}),
        (Options(integer="whole", presolve=False, odd_wheels=False), {"integrate", "branch"}),
    ],
    ids=["bare", "with heuristics", "with presolve", "default", "whole"],
)
def test_spots_and_pieces_give_the_optimum_of_one_large_ilp(options, steps, monkeypatch):
    for graph in spotted_instances():
        reference = solve(graph, options=WHOLE)
        assert reference.status == "optimal"
        with monkeypatch.context() as patch:
            calls = count_calls(patch, *STEPS)
            check_optimal(graph, solve(graph, options=options), reference.objective)
        steps = steps - {name for name, count in calls.items() if count > 0}
    assert not steps, "these never ran"


def test_small_spotted_instances_against_an_independent_milp(monkeypatch):
    calls = count_calls(monkeypatch, *STEPS)
    for sizes in ([3, 3, 3], [5, 5], [3, 3, 5]):
        for weight in (0.25, -0.25, 0.5, 1.0):
            graph = chain_of_wheels(sizes, weight, 0.1)
            check_optimal(graph, solve(graph, options=BARE), optimum(graph))
    assert calls["_bound_parts"] > 0


def test_independent_pieces_are_solved_one_by_one(monkeypatch):
    calls = count_calls(monkeypatch, "_solve_pieces", "_solve_instead")
    parts = [wheel(5), wheel(9, 1.1), wheel(11, 0.9), wheel(7, 1.2)]
    graph = joined(parts)
    best = sum(optimum(part) if part.n <= 9 else solve(part).objective for part in parts)
    check_optimal(graph, solve(graph, options=BARE), best)
    assert calls["_solve_pieces"] == 1
    assert calls["_solve_instead"] >= 4


def test_pieces_start_from_what_is_known_of_them(monkeypatch):
    wheels = [wheel(9, 1.1), wheel(11, 0.9)]
    graph = joined(wheels)
    best = solve(graph)
    run, known = Solver.run, {}

    def run_and_note(self):
        known[self._graph.m] = self.bounds.upper
        return run(self)

    def no_search(graph, **_):
        return best.labels if graph.m == best.graph.m else np.arange(graph.n)

    monkeypatch.setattr(Solver, "run", run_and_note)
    monkeypatch.setattr(solver_module, "local_search", no_search)
    solve(graph, options=Options(presolve=False, odd_wheels=False, rounding=()))
    assert [known[part.m] for part in wheels] == pytest.approx(
        [solve(part).objective for part in wheels]
    )


@pytest.mark.parametrize("rings", [1, 6])
def test_decisions_after_zooming_in_exclude_nothing_cheaper_than_the_cutoff(rings, monkeypatch):
    """The second best stands in for the optimum, which decisions must still leave possible."""
    monkeypatch.setattr(solver_module, "RINGS", rings)
    solvers, decisions = [], []
    divide, decide, offer = Solver._divide, fixing.by_reduced_cost, Bounds.offer

    def watched(self, benders):
        solvers.append(self)
        return divide(self, benders)

    def recorded(lowest, highest, slack):
        decided = decide(lowest, highest, slack)
        decisions.append((solvers[-1], solvers[-1].bounds.cutoff, decided))
        return decisions[-1][-1]

    def withheld(self, labels):
        if self._graph is graph and graph.objective(labels) <= costs.min() + 1e-9:
            labels = runner_up
        return offer(self, labels)

    monkeypatch.setattr(Solver, "_divide", watched)
    monkeypatch.setattr(parts_module, "by_reduced_cost", recorded)
    monkeypatch.setattr(Bounds, "offer", withheld)
    decided = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        friends = wheel(3, spoke=2.0, rim=2.0)  # beside them the LP is right
        plain = joined([wheel(3), friends], [(0, 4, 0.25), (1, 5, -0.25)])
        graph = Graph(8, plain.edges, plain.weights + rng.normal(0, 0.02, plain.m))
        cuts = all_cuts(graph)
        costs = cuts @ graph.weights
        runner_up = partitions(8)[np.argsort(costs)[1]]
        options = Options(presolve=False, odd_wheels=False, heuristics=False)
        solve(graph, options=options)
        for solver, cutoff, decision in decisions:
            if solver._graph is graph:
                cheaper = cuts[costs < cutoff]
                assert not cheaper[:, decision.kept].any()
                assert cheaper[:, decision.cut].all()
                decided += len(cheaper) * int((decision.kept | decision.cut).sum())
        decisions.clear()
    assert decided > 0


# Stops, also inside of an instance that is solved in place of the one given.

HARD = random_graph(np.random.default_rng(0), 40, 1.0)
REDUCED = joined(
    [planar(np.random.default_rng(3), 8, 8), random_graph(np.random.default_rng(1), 9, 1.0)]
)
PIECES = joined([wheel(9, 1.1), wheel(11, 0.9), wheel(13, 1.2)])


@cache
def best_of(which):
    graph = {"reduced": REDUCED, "pieces": PIECES}[which]
    result = solve(graph, options=WHOLE)
    assert result.status == "optimal"
    return graph, result.objective


STOPS = [("reduced", Options()), ("reduced", BARE), ("pieces", BARE)]


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_a_callback_can_stop_in_any_round(which, options, monkeypatch):
    graph, best = best_of(which)
    rounds = len(solve(graph, options=options).history)
    assert rounds > 1
    calls = count_calls(monkeypatch, "_solve_instead")
    for at in range(1, rounds):
        result = solve(graph, options=options, callback=lambda p, at=at: p.round.number == at)
        assert result.status == "stopped"
        assert len(result.history) == at
        check_bounds(graph, result, best)
    assert calls["_solve_instead"] > 0 or options is BARE


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_ctrl_c_in_any_round(which, options):
    graph, best = best_of(which)
    rounds = len(solve(graph, options=options).history)

    for at in range(1, rounds + 1):

        def interrupt(progress, at=at):
            if progress.round.number == at:
                raise KeyboardInterrupt

        result = solve(graph, options=options, callback=interrupt)
        assert result.status == "interrupted"
        check_bounds(graph, result, best)


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_max_rounds(which, options):
    graph, best = best_of(which)
    rounds = len(solve(graph, options=options).history)
    for at in range(1, rounds):
        limited = Options(**{**vars(options), "max_rounds": at})
        result = solve(graph, options=limited)
        assert result.status == "max_rounds"
        assert len(result.history) == at
        check_bounds(graph, result, best)
    enough = solve(graph, options=Options(**{**vars(options), "max_rounds": rounds + 1}))
    check_optimal(graph, enough, best)


def test_callbacks_see_bounds_and_labels_of_the_whole_instance():
    seen = []
    result = solve(REDUCED, callback=seen.append)
    assert [progress.round for progress in seen] == list(result.history)
    for progress in seen:
        assert REDUCED.objective(progress.labels) == progress.round.upper_bound


@pytest.mark.parametrize("options", [Options(), BARE])
@pytest.mark.parametrize("graph", [HARD, REDUCED, PIECES], ids=["hard", "reduced", "pieces"])
def test_no_time_at_all(graph, options):
    result = solve(graph, time_limit=0, options=options)
    assert result.status == "time_limit"
    assert graph.negative_sum <= result.lower_bound <= result.objective <= 0
    assert result.objective == graph.objective(result.labels)


@pytest.mark.parametrize("combination", [c for c in COMBINATIONS if c["engine"] == "packing"])
def test_a_gap_stops_early_with_a_gap_that_is_as_asked_for(combination):
    n_gap = 0
    for graph, best in [*cases(0).values(), best_of("reduced"), best_of("pieces")]:
        result = solve(graph, gap=0.1, options=Options(**combination))
        assert result.status in ("gap", "optimal")
        assert result.relative_gap <= 0.1 + 1e-9
        check_bounds(graph, result, best)
        n_gap += result.status == "gap"
    assert n_gap > 0 or combination["odd_wheels"]


@pytest.mark.parametrize("options", [Options(), Options(presolve=False, odd_wheels=False)])
def test_an_absolute_gap_stops_early(options):
    graph, best = best_of("pieces")
    result = solve(graph, options=Options(**{**vars(options), "absolute_gap": 2.0}))
    assert result.status == "gap"
    assert result.gap <= 2.0 + 1e-9
    check_bounds(graph, result, best)


@pytest.mark.parametrize("changes", [{"tau": 0.5}, {"rows": "aggregated"}])
def test_packing_has_split_rows_only(changes):
    with pytest.raises(ValueError, match=r"engine 'packing' has split rows .* use 'reference'"):
        Options(engine="packing", **changes)


@pytest.mark.parametrize("engine", ["packing", "reference"])
def test_the_same_seed_gives_the_same_labels(engine):
    rng = np.random.default_rng(8)
    for graph in (
        wheels_in_a_mesh(rng, 6, 6, "ties"),
        random_graph(rng, 14, 0.8, "ties"),
        chain_of_wheels([5, 3, 5], 0.25),
    ):
        for options in (Options(engine=engine), Options(engine=engine, odd_wheels=False)):
            first, second = (solve(graph, options=options, seed=3) for _ in range(2))
            assert first.labels.tolist() == second.labels.tolist()


def test_ctrl_c_in_a_compiled_function_returns_the_best(monkeypatch):
    """Numba turns a KeyboardInterrupt that arrives meanwhile into the cause of a SystemError."""
    graph = random_graph(np.random.default_rng(4), 12, 0.8)

    def interrupted(*args, **kwargs):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise SystemError("returned a result with an exception set") from cause

    monkeypatch.setattr(solver_module, "local_search", interrupted)
    result = solve(graph, options=Options(presolve=False))
    assert result.status == "interrupted"
    assert result.lower_bound <= result.objective == graph.objective(result.labels)


def test_other_system_errors_are_not_hidden(monkeypatch):
    def broken(*args, **kwargs):
        raise SystemError("something else")

    monkeypatch.setattr(solver_module, "local_search", broken)
    with pytest.raises(SystemError, match="something else"):
        solve(random_graph(np.random.default_rng(4), 12, 0.8), options=Options(presolve=False))
