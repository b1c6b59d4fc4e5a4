"""The model of a card, from what the compiler said."""

import jax

from bdcc_jax.doctor.kernels import tour
from bdcc_jax.lp.dual_ascent import DualAscent, kernels
from benchmarks import card_model
from benchmarks.instances import planar


def test_every_program_is_stored():
    names = set()

    def see(call):
        names.add(call.name)
        with jax.enable_x64(call.x64):
            return jax.eval_shape(call.bound(), *call.arguments)

    tour(see, jax.devices("cpu")[0], 100)
    for cards in card_model.stored()["programs"].values():
        assert set(cards) == set(card_model.BANDWIDTH)
        assert all(set(programs) == names for programs in cards.values())


def test_more_costs_more():
    one, two = (card_model.turn_seconds("ascent: sweep", factor) for factor in (1.0, 2.0))
    assert one.least < two.least < 2 * one.least
    assert one.least < one.most
    full, half = (card_model.lp_seconds(share=share).least for share in (1.0, 0.5))
    assert half < full < card_model.lp_seconds(kinds=2).least


def test_programs_of_the_ascent_are_replaced():
    before, replaced = kernels.sweep, card_model.Replaced("sm_80")
    with replaced.listening():
        next(DualAscent(planar(300), batched=True).run())
    assert kernels.sweep is before
    assert all(turns > 0 for turns in replaced.turns.values())
    assert 0.0 < replaced.seconds.least <= replaced.seconds.most
