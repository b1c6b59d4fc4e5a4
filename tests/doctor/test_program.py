"""Kernels and bytes, read from the text of a compiled program."""

from bdcc_jax.doctor.model import LAUNCH, SYNC, of_program
from bdcc_jax.doctor.program import Cost, Program, sort_passes

TEXT = """HloModule jit_f, entry_computation_layout={(f32[100]{0})->f32[100]{0}}

%fused_gather (param_0: f32[1000], param_1: s32[100]) -> f32[100] {
  %param_0 = f32[1000]{0} parameter(0)
  %param_1 = s32[100]{0} parameter(1)
  %at = s32[100,1]{1,0} bitcast(%param_1)
  %table = f32[1000]{0} bitcast(%param_0)
  ROOT %gather.1 = f32[100]{0} gather(%table, %at), offset_dims={}, slice_sizes={1}
}

%fused_update (param_0.1: f32[50,100], param_1.1: f32[100], param_2.1: s32[]) -> f32[50,100] {
  %param_0.1 = f32[50,100]{1,0} parameter(0)
  %param_1.1 = f32[100]{0} parameter(1)
  %param_2.1 = s32[] parameter(2)
  %row = f32[1,100]{1,0} bitcast(%param_1.1)
  %zero = s32[] constant(0)
  ROOT %put = f32[50,100]{1,0} dynamic-update-slice(%param_0.1, %row, %param_2.1, %zero)
}

%wrapped_sort_computation (param_0.2: f32[4096]) -> f32[4096] {
  %param_0.2 = f32[4096]{0} parameter(0)
  ROOT %sort.1 = f32[4096]{0} sort(%param_0.2), dimensions={0}, to_apply=%less
}

%inner_body (arg.1: (s32[], f32[100])) -> (s32[], f32[100]) {
  %arg.1 = (s32[], f32[100]{0}) parameter(0)
  %count = s32[] get-tuple-element(%arg.1), index=0
  %x = f32[100]{0} get-tuple-element(%arg.1), index=1
  %next = s32[] fusion(%count), kind=kLoop, calls=%nothing
  %copied = f32[100]{0} copy(%x)
  ROOT %pair = (s32[], f32[100]{0}) tuple(%next, %copied)
}

%inner_condition (arg.2: (s32[], f32[100])) -> pred[] {
  %arg.2 = (s32[], f32[100]{0}) parameter(0)
  %count.2 = s32[] get-tuple-element(%arg.2), index=0
  ROOT %less.2 = pred[] compare(%count.2, %count.2), direction=LT
}

ENTRY %main (x.1: f32[1000], at.1: s32[100], all.1: f32[50,100], i.1: s32[]) -> f32[100] {
  %x.1 = f32[1000]{0} parameter(0)
  %at.1 = s32[100]{0} parameter(1)
  %all.1 = f32[50,100]{1,0} parameter(2)
  %i.1 = s32[] parameter(3)
  %long.1 = f32[4096]{0} parameter(4)
  %gathered = f32[100]{0} fusion(%x.1, %at.1), kind=kLoop, calls=%fused_gather
  %updated = f32[50,100]{1,0} fusion(%all.1, %gathered, %i.1), kind=kLoop, calls=%fused_update
  %sorted = f32[4096]{0} fusion(%long.1), kind=kCustom, calls=%wrapped_sort_computation
  %start = (s32[], f32[100]{0}) tuple(%i.1, %gathered)
  %called = f32[] custom-call(%i.1), custom_call_target="somebody"
  %known = (s32[], f32[100]{0}) while(%start), condition=%inner_condition, body=%inner_body, \
backend_config={"known_trip_count":{"n":"7"}}
  %open = (s32[], f32[100]{0}) while(%known), condition=%inner_condition, body=%inner_body
  ROOT %result = f32[100]{0} get-tuple-element(%open), index=1
}
"""
TEXT = TEXT.replace("\\\n", "")


def test_what_is_counted():
    program = Program(TEXT)
    gathered = 400 + 400 + min(4000, 100 * 32), 400 + 400 + 100 * 32
    updated = 3 * 400 + 4  # the row is read, and written in place
    passes = sort_passes(4096)
    rest = updated + passes * 2 * 4 * 4096 + 8
    kernels = 2 + passes + 1
    assert program.whole.turn == Cost(kernels, gathered[0] + rest, gathered[1] + rest, 1)
    assert [loop.turns for loop in program.whole.loops] == [7, None]
    turn = Cost(3, 8 + 800 + 9, 8 + 800 + 9, 0)
    assert {loop.turn for loop in program.whole.loops} == {turn}
    assert (program.count("sort"), program.targets) == (1, ["somebody"])


def test_seconds_by_the_model():
    whole = Program(TEXT).whole
    launches = whole.turn.kernels + (7 + 5) * 3
    moved = whole.turn.moved + 12 * whole.loops[0].turn.moved
    seconds = of_program(whole, (5,), 1e9)
    assert abs(seconds.least - (launches * LAUNCH + 5 * SYNC + moved / 1e9)) < 1e-12
