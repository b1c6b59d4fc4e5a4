"""No Ctrl-C gets lost."""

import gc
import signal
import time

import pytest

from bdcc_jax.base import interrupts
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
