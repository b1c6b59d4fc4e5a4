"""No Ctrl-C gets lost."""

import gc
import signal
import time

import pytest

from bdcc_jax.base import interrupts
from bdcc_jax.base.compiled import cpu_target, load_compiler
from bdcc_jax.cli.signals import Signals


@pytest.mark.parametrize("minded", [interrupts.interruptible, Signals().minded])
def test_ctrl_c_in_a_finalizer_is_not_lost(minded):
    """Where Python would print and forget the exception."""

    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
            sum(range(10))

    def finalize_and_wait():
        Finalized()
        gc.collect()
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), minded():
        finalize_and_wait()


def test_ctrl_c_while_numba_loads_its_tables_comes_when_they_are_complete(monkeypatch):
    """Half of them would make every compiled function fail from then on, with any error."""
    loaded = []

    def pressed():
        signal.raise_signal(signal.SIGINT)
        loaded.append(sum(range(10)))

    for context in (cpu_target.target_context, cpu_target.typing_context):
        monkeypatch.setattr(context, "refresh", pressed)
    load_compiler.cache_clear()
    with pytest.raises(KeyboardInterrupt), interrupts.interruptible():
        pytest.fail("the interrupt is lost")
    assert loaded == [45, 45]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
