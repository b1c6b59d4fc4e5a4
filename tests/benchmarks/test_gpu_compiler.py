"""What XLA's compiler makes of our programs for an A100 and an H100, on a machine without one."""

import json

import jax
import pytest

from benchmarks.card_model import FILE, loop_of
from benchmarks.gpu_compiler import CARDS, NODES, Unavailable, compiled_programs

MOST_KERNELS = {
    "ascent: sweep": [6],
    "ascent: first-order step": [8],
    "ascent: cycles": [8, 12],
    "contraction: round": [125, 6],  # the passes of a sort are most of them
    "subproblems: 16 iterations": [12, 36, 24, 11, 18],
    "detection: sweep": [16],
}
"""In a turn of every loop, from the outside to the inside: what jax 0.10.2 makes, and a little."""

MOST_OUTSIDE = 130
"""Kernels of a call outside of all loops."""

MOST_TEMPORARY = {
    "ascent: sweep": 0.25,
    "ascent: first-order step": 0.25,
    "ascent: cycles": 2.0,
    "contraction: round": 1.6,
}
"""Bytes for every byte of arguments and results, where the package itself does not reckon."""

SORTS = {"ascent: cycles": 1, "contraction: round": 1}
SORTS_IN_LOOPS = {"contraction: round": 1}
"""No program but these sorts, and one of them only before its loops."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Everything that is compiled, in an environment of its own."""
    try:
        return compiled_programs(
            tmp_path_factory.mktemp("plugin"), "--whole-loops", "--nodes", *map(str, NODES)
        )
    except Unavailable as why:
        pytest.skip(f"JAX' plug-in for CUDA cannot be installed here: {why}")


@pytest.fixture(scope="module")
def programs(found):
    return [
        (name, facts)
        for cards in found["programs"].values()
        for of_card in cards.values()
        for name, facts in of_card.items()
    ]


@pytest.mark.slow
def test_every_program_compiles_for_both_cards(found):
    for nodes in map(str, NODES):
        for card in CARDS:
            assert set(found["programs"][nodes][card]) == set(MOST_KERNELS)


@pytest.mark.slow
def test_few_kernels_a_turn(programs):
    for name, facts in programs:
        whole = loop_of(facts["program"])
        kernels = [loop.turn.kernels for loop in whole.loops]
        assert len(kernels) == len(MOST_KERNELS[name]), (name, kernels)
        pairs = zip(kernels, MOST_KERNELS[name], strict=True)
        assert all(count <= most for count, most in pairs), (name, kernels)
        assert whole.turn.kernels <= MOST_OUTSIDE, (name, whole.turn.kernels)


@pytest.mark.slow
def test_no_libraries_no_host_and_no_sort_that_is_not_meant(programs):
    for name, facts in programs:
        assert not facts["custom_calls"], name
        assert facts["host"] == 0, name
        assert facts["sorts"] == SORTS.get(name, 0), name
        in_loops = sum(loop.turn.sorts for loop in loop_of(facts["program"]).loops)
        assert in_loops == SORTS_IN_LOOPS.get(name, 0), name


@pytest.mark.slow
def test_memory_is_within_what_the_package_reckons_with(programs):
    for name, facts in programs:
        held = facts["arguments"] + facts["results"]
        if facts["memory"] is not None:
            assert held + facts["temporary"] <= facts["memory"], name
        else:
            assert facts["temporary"] <= MOST_TEMPORARY[name] * held, name


@pytest.mark.slow
def test_a_sweep_moves_the_state_about_twice(programs):
    for name, facts in programs:
        if name == "ascent: sweep":
            state = facts["arguments"] + facts["results"]
            assert loop_of(facts["program"]).loops[0].turn.moved <= 2.5 * state


@pytest.mark.slow
def test_the_compiler_takes_whole_loops_in_one_graph(found):
    for card in CARDS:
        assert set(found["whole_loops"][card]) == set(MOST_KERNELS)


@pytest.mark.slow
def test_what_is_stored_is_what_this_compiler_says(found):
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    if stored["jax"] != jax.__version__:
        pytest.skip(f"stored with jax {stored['jax']}, here is {jax.__version__}")
    assert stored["programs"] == found["programs"], "python -m benchmarks.gpu_compiler --write"
