"""Instances whose gap is in a few regions: the steps after the LP have work to do."""

import numpy as np
import pytest
from checks import BARE, WHOLE, check_optimal, count_calls
from families import chain_of_wheels, joined, optimum, wheel, wheels_in_a_mesh
from oracles import all_cuts, partitions, random_graph

from bdcc_jax import Graph, Options, solve
from bdcc_jax.lp import fixing
from bdcc_jax.primal import heuristics
from bdcc_jax.proofs import decomposition
from bdcc_jax.search import after_lp, small, strategy
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.job import Job

STEPS = (
    "_fix_and_solve",
    "_open_regions",
    "_bound_parts",
    "_solve_pieces",
    "solve_instead",
    "branch",
    "integrate",
)


def instances_with_open_regions():
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
                "solve_instead",
                "branch",
            },
        ),
        (
            Options(presolve=False, odd_wheels=False),
            {"_fix_and_solve", "_open_regions", "_bound_parts"},
        ),
        (Options(odd_wheels=False), {"_solve_pieces", "solve_instead"}),
        (Options(), {"solve_instead"}),
        (Options(integer="whole", presolve=False, odd_wheels=False), {"integrate", "branch"}),
    ],
    ids=["bare", "with heuristics", "with presolve", "default", "whole"],
)
def test_regions_and_pieces_give_the_optimum_of_one_large_ilp(options, steps, monkeypatch):
    for graph in instances_with_open_regions():
        reference = solve(graph, options=WHOLE)
        assert reference.status == "optimal"
        with monkeypatch.context() as patch:
            calls = count_calls(patch, *STEPS)
            check_optimal(graph, solve(graph, options=options), reference.objective)
        steps = steps - {name for name, count in calls.items() if count > 0}
    assert not steps, "these never ran"


def test_small_instances_with_open_regions_against_an_independent_milp(monkeypatch):
    calls = count_calls(monkeypatch, *STEPS)
    for sizes in ([3, 3, 3], [5, 5], [3, 3, 5]):
        for weight in (0.25, -0.25, 0.5, 1.0):
            graph = chain_of_wheels(sizes, weight, 0.1)
            check_optimal(graph, solve(graph, options=BARE), optimum(graph))
    assert calls["_bound_parts"] > 0


def test_independent_pieces_are_solved_one_by_one(monkeypatch):
    calls, solved = count_calls(monkeypatch, "_solve_pieces"), []
    parts = [wheel(5), wheel(9, 1.1), wheel(11, 0.9), wheel(7, 1.2)]
    solve_one = small._solve

    def noted(job, instance, clock):
        solved.append(instance.graph.n)
        return solve_one(job, instance, clock)

    monkeypatch.setattr(small, "_solve", noted)
    graph = joined(parts)
    best = sum(optimum(part) if part.n <= 9 else solve(part).objective for part in parts)
    check_optimal(graph, solve(graph, options=BARE), best)
    assert calls["_solve_pieces"] == 1
    assert {6, 8, 10, 12} <= set(solved)


def test_pieces_start_from_what_is_known_of_them(monkeypatch):
    wheels = [wheel(9, 1.1), wheel(11, 0.9)]
    graph = joined(wheels)
    best = solve(graph)
    run, known = Job.run, {}

    def run_and_note(self):
        known[self.graph.m] = self.bounds.upper
        return run(self)

    def no_search(graph, **_):
        return best.labels if graph.m == best.graph.m else np.arange(graph.n)

    monkeypatch.setattr(Job, "run", run_and_note)
    monkeypatch.setattr(heuristics, "local_search", no_search)
    solve(graph, options=Options(presolve=False, odd_wheels=False, rounding=()))
    assert [known[part.m] for part in wheels] == pytest.approx(
        [solve(part).objective for part in wheels]
    )


@pytest.mark.parametrize("rings", [1, 6])
def test_decisions_after_zooming_in_exclude_nothing_cheaper_than_the_cutoff(rings, monkeypatch):
    """The second best stands in for the optimum, which decisions must still leave possible."""
    monkeypatch.setattr(after_lp, "RINGS", rings)
    jobs, decisions = [], []
    divide, decide, offer = after_lp.divide, fixing.by_reduced_cost, Bounds.offer

    def watched(job, benders):
        jobs.append(job)
        return divide(job, benders)

    def recorded(lowest, highest, slack):
        decided = decide(lowest, highest, slack)
        decisions.append((jobs[-1], jobs[-1].bounds.cutoff, decided))
        return decisions[-1][-1]

    def withheld(self, labels):
        if self._graph is graph and graph.objective(labels) <= costs.min() + 1e-9:
            labels = runner_up
        return offer(self, labels)

    monkeypatch.setattr(strategy, "divide", watched)
    monkeypatch.setattr(decomposition, "by_reduced_cost", recorded)
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
        for job, cutoff, decision in decisions:
            if job.graph is graph:
                cheaper = cuts[costs < cutoff]
                assert not cheaper[:, decision.kept].any()
                assert cheaper[:, decision.cut].all()
                decided += len(cheaper) * int((decision.kept | decision.cut).sum())
        decisions.clear()
    assert decided > 0
