"""A check-up of the machine."""

from dataclasses import replace

import jax
import pytest

from bdcc_jax.cli import main
from bdcc_jax.doctor import checkup
from bdcc_jax.doctor.kernels import tour
from bdcc_jax.doctor.program import Program

CPU = jax.devices("cpu")[0]
SMALL = {name: (100, 0.0, options) for name, (_, _, options) in checkup.SOLVES.items()}


def names():
    found = []

    def see(call):
        found.append(call.name)
        with jax.enable_x64(call.x64):
            return jax.eval_shape(call.bound(), *call.arguments)

    tour(see, CPU, 100)
    return found


def test_a_machine_without_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr(checkup, "SOLVES", SMALL)
    assert main(["doctor", "--nodes", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == "```"
    assert lines[-2] == "all is well"
    assert any("none found by JAX" in line for line in lines)
    for name in [*names(), *SMALL]:
        assert sum(name in line for line in lines) == 1, name


def test_a_device_that_is_wrong(capsys, monkeypatch):
    def wrong(graph, *, options, device, gap):
        result = solve(graph, options=options, device=device, gap=gap)
        return replace(result, objective=result.objective + 0.5) if options.dual_ascent else result

    solve = checkup.solve
    monkeypatch.setattr(checkup, "SOLVES", {"dual ascent": SMALL["dual ascent"]})
    monkeypatch.setattr(checkup, "solve", wrong)
    monkeypatch.setattr(checkup, "tour", lambda *_: None)
    assert main(["doctor"]) == 1
    assert "NOT THE SAME AS ON THE HOST" in capsys.readouterr().out


def test_too_few_nodes(capsys):
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--nodes", "3"])
    assert left.value.code == 2
    assert "--nodes must be at least 4, not 3" in capsys.readouterr().err


def test_times_stand_beside_the_model():
    timings = checkup.time_programs(CPU, 100, 1e10)
    assert [timing.name for timing in timings] == names()
    for timing in timings:
        assert timing.kernels > 0
        assert 0.0 < timing.model.least <= timing.model.most


def test_turns_are_given_for_every_loop_that_the_data_end():
    def see(call):
        with jax.enable_x64(call.x64):
            program = Program(
                call.function.lower(*call.arguments, **call.statics).compile().as_text()
            )
            unknown = [loop for loop in program.whole.loops if loop.turns is None]
            assert len(unknown) == len(call.turns), call.name
            return jax.eval_shape(call.bound(), *call.arguments)

    tour(see, CPU, 100)
