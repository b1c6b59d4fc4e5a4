"""The batched first-order LP solver against HiGHS, and its promises as a JAX program."""

import jax
import numpy as np
import pytest
from flow_lps import check, complete, join, optimum, path, planar, star

from bdcc_jax import PDLPOptions
from bdcc_jax.separation.device import flows, pdlp
from bdcc_jax.separation.device.flow_batch import extra_bucket, layouts, node_bucket
from bdcc_jax.separation.device.flow_problems import magnanti_wong
from bdcc_jax.separation.device.flows import solve_flows


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(7)
    # Few sizes: every shape is compiled.
    parts = [planar(rng, n) for n in (10, 30, 60) for _ in range(4)]
    parts += [complete(rng, n) for n in (6, 6, 30, 30)]
    parts += [star(rng, 30), star(rng, 61), path(rng, 2), path(rng, 12)]
    return join(parts)


@pytest.mark.parametrize(
    ("tolerance", "single"), [(1e-2, 256), (1e-3, 256), (1e-3, 0), (1e-5, 256)]
)
def test_agrees_with_highs(mixed, tolerance, single):
    options = PDLPOptions(tolerance, iteration_limit=20_000, single_iterations=single)
    solution = solve_flows(mixed, options)
    assert solution.converged.all()
    check(mixed, solution, tolerance)


def test_default_options_converge_within_the_limit(mixed):
    solution = solve_flows(mixed)
    assert solution.converged.all()
    assert solution.iterations.max() <= 1000


def test_bound_is_valid_at_any_iterate(mixed):
    for limit in (1, 32, 64):
        solution = solve_flows(mixed, PDLPOptions(1e-6, iteration_limit=limit))
        for b in range(len(mixed)):
            best = optimum(mixed, b)
            assert solution.bound[b] <= best + 1e-5 * abs(best)


def test_iteration_limit_is_reported(mixed):
    solution = solve_flows(mixed, PDLPOptions(1e-9, iteration_limit=32))
    assert not solution.converged.all()
    assert solution.iterations.max() == 32


def test_warm_start_saves_iterations(mixed):
    cold = solve_flows(mixed)
    warm = solve_flows(mixed, start=cold)
    assert warm.converged.all()
    assert warm.iterations.mean() <= 0.6 * cold.iterations.mean()
    check(mixed, warm, 1e-3)


def test_no_reachable_supply():
    rng = np.random.default_rng(0)
    apart = (4, *(np.array(a) for a in ([0, 2], [1, 3], [0.0, 0.0], [1.0, 1.0])))
    problem = (*apart, np.array([0, 0, 0, 1.0]), np.array([0, 0, 0, 2.0]))
    solution = solve_flows(join([problem, planar(rng, 20)]))
    assert solution.objective[0] == pytest.approx(0.0, abs=1e-6)


def test_one_answer_whatever_the_company(mixed):
    rng = np.random.default_rng(3)
    part = planar(rng, 40)
    alone = solve_flows(join([part]))
    together = solve_flows(join([part] + [planar(rng, 33) for _ in range(20)]))
    np.testing.assert_allclose(alone.objective[0], together.objective[0], rtol=3e-3)


@pytest.mark.parametrize("tau", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("kind", ["random", "capacity"])
def test_magnanti_wong_agrees_with_highs(mixed, tau, kind):
    rng = np.random.default_rng(5)
    if kind == "random":
        cost, charge = 0.01 + rng.random(len(mixed.cost)), 0.01 + rng.random(len(mixed.supply))
    else:
        cost, charge = 1 / (1e-4 + mixed.capacity), 1 / (1e-4 + mixed.supply)
    base = solve_flows(mixed)
    spent = np.add.reduceat(cost * np.abs(base.flow), mixed.edges[:-1])
    spent += np.add.reduceat(charge * base.supply, mixed.nodes[:-1])
    problems = magnanti_wong(mixed, -base.bound * (1 - 2e-3), spent, cost, charge, tau)
    solution = solve_flows(problems, PDLPOptions(1e-3, iteration_limit=20_000))
    assert solution.converged.all()
    check(problems, solution, 1e-3, share=10.0)


def device_problem(problems, dtype="float32"):
    group = next(layouts(problems, 2**19))
    active = problems.activity is not None
    arrays = jax.device_put(
        (flows._fill(group.padded, group.batch), *flows._start(group, None, group.batch))
    )
    return pdlp.prepare(*arrays, dtype, active)


@pytest.mark.parametrize("active", [False, True])
def test_device_code_lowers_for_cuda_without_callbacks_or_single_scatters(mixed, active):
    problems = mixed
    if active:
        ones = np.ones(len(mixed))
        problems = magnanti_wong(mixed, ones, ones, 1 + mixed.cost, 1 + mixed.reward, 0.5)
    with jax.enable_x64(True):
        problem, state = device_problem(problems)
        arguments = (problem, state, np.float64(1e-3), np.int32(100))
        text = jax.export.export(pdlp.advance, platforms=["cuda"])(*arguments).mlir_module()
    operations = [line.split(" loc(")[0] for line in text.splitlines()]
    assert not any("callback" in line or "scatter" in line for line in operations if "=" in line)


def test_no_transfer_within_a_call(mixed):
    with jax.enable_x64(True):
        problem, state = device_problem(mixed)
        tolerance, limit = jax.device_put((np.float64(1e-3), np.int32(100)))
        with jax.transfer_guard("disallow"):
            state, counts = pdlp.advance(problem, state, tolerance, limit)
            pdlp.compact(problem, state, 8)
        assert counts.shape == (1,)


def test_x64_of_the_caller_is_left_alone(mixed):
    before = jax.config.jax_enable_x64
    solve_flows(mixed)
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.ones(1).dtype == (np.float64 if before else np.float32)


def test_strict_promotion(mixed):
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        assert solve_flows(mixed).converged.all()


def test_few_compilations():
    """Sizes are rounded to buckets: new problems of the same kind compile nothing new."""
    rng = np.random.default_rng(11)
    batches = [join([planar(rng, int(n)) for n in rng.integers(50, 60, 40)]) for _ in range(6)]
    solve_flows(batches[0])
    before = pdlp.advance._cache_size()
    for batch in batches[1:]:
        solve_flows(batch)
    assert pdlp.advance._cache_size() - before <= 4


def test_buckets():
    sizes = np.array([1, 16, 17, 64, 65])
    assert node_bucket(sizes, coarse=False).tolist() == [4, 16, 24, 64, 96]
    assert node_bucket(sizes, coarse=True).tolist() == [16, 16, 32, 64, 128]
    rows, nodes = np.array([0, 16, 17, 65, 128, 300]), np.full(6, 64)
    assert extra_bucket(rows, nodes, coarse=False).tolist() == [0, 16, 32, 128, 128, 512]
    assert extra_bucket(rows, nodes, coarse=True).tolist() == [32, 32, 32, 128, 128, 512]
    rows, nodes = np.array([0, 2, 3, 9]), np.full(4, 8)
    assert extra_bucket(rows, nodes, coarse=False).tolist() == [2, 2, 8, 32]
    assert extra_bucket(rows, nodes, coarse=True).tolist() == [16, 16, 16, 16]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "between 0 and 1, not 0.0"),
        ({"tolerance": -1.0}, "between 0 and 1, not -1.0"),
        ({"iteration_limit": 0}, "iteration_limit must be an integer >= 1, not 0"),
        ({"single_iterations": -1}, "single_iterations must be an integer >= 0, not -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        PDLPOptions(**options)


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.5, 2.0])
def test_bad_tau(mixed, tau):
    with pytest.raises(ValueError, match=f"tau is {tau}"):
        magnanti_wong(mixed, *[np.ones(len(mixed))] * 2, mixed.cost, mixed.supply, tau)
