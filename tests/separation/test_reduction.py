"""Reduced flow LPs have the optimum of the original ones, and their flows lead back."""

from dataclasses import replace

import numpy as np
import pytest
from flow_lps import batch, check, join, lead_back

from bdcc_jax import PDLPOptions
from bdcc_jax.separation.device.flow_problems import magnanti_wong, magnanti_wong_by_price
from bdcc_jax.separation.device.flows import solve_reduced


def variant(problems, row, tau):
    rng = np.random.default_rng(0)
    base = solve_reduced(problems, PDLPOptions(1e-6, iteration_limit=20_000))
    cost, charge = rng.random(len(problems.cost)), rng.random(len(problems.supply))
    spent = np.add.reduceat(cost * np.abs(base.flow), problems.edges[:-1])
    spent += np.add.reduceat(charge * base.supply, problems.nodes[:-1])
    make = magnanti_wong if row else magnanti_wong_by_price
    return make(problems, -base.bound * (1 - 1e-3), spent, cost, charge, tau)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("free", [True, False])
def test_optimal_flows_lead_back_to_optimal_flows(seed, free):
    reduction = lead_back(batch(seed, free))
    if free:
        assert len(reduction.members) <= 12


@pytest.mark.parametrize("row", [True, False], ids=["row", "price"])
@pytest.mark.parametrize("tau", [0.01, 0.5, 0.9])
def test_magnanti_wong_problems_too(row, tau):
    lead_back(variant(batch(9, free=False), row, tau))


def test_without_a_bound_on_the_multiplier_nothing_is_pruned():
    problems = variant(batch(9, free=False), True, 0.5)
    largest = np.full(len(problems), np.inf)
    lead_back(replace(problems, activity=replace(problems.activity, largest=largest)))


def test_the_solver_agrees_with_highs():
    problems = batch(5, free=False)
    solution = solve_reduced(problems)
    assert solution.converged.all()
    check(problems, solution, 1e-3)


def test_a_narrow_passage():
    """Units of supply, and one edge that lets 1e-5 through: no price, then a price."""
    tail, head = np.array([0, 0, 1, 2, 3, 3, 4]), np.array([1, 2, 2, 3, 4, 5, 5])
    capacity = np.array([2.0, 1.0, 3.0, 1e-5, 2.0, 2.0, 1.0])
    supply, reward = np.array([0, 0, 0, 0, 3.0, 4.0]), np.array([0, 0, 0, 0, 1.0, 1.0])
    parts = [(6, tail, head, np.full(7, p), capacity, reward, supply) for p in (0.0, 0.1)]
    problems = join(parts)
    solution = solve_reduced(problems)
    assert solution.converged.all()
    check(problems, solution, 1e-3)


def test_nothing_is_left_without_a_path():
    apart = (4, *(np.array(a) for a in ([0, 2], [1, 3], [0.0, 0.0], [1.0, 1.0])))
    problems = join([(*apart, np.array([0, 0, 0, 1.0]), np.array([0, 0, 0, 2.0]))])
    solution = solve_reduced(problems)
    assert solution.converged.all()
    assert solution.objective.tolist() == [0.0]
    assert not solution.flow.any()
