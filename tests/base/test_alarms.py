"""Flags for compiled loops are raised at their deadlines, and not before."""

import threading
import time

from bdcc_jax.base.clock import Clock


def test_a_flag_is_raised_at_the_deadline_while_others_wait():
    """No thread could wait for ages at once; it would end with an error of its own."""
    for limit in (3600.0, 1e6, 1e300, float("inf"), None):
        with Clock(limit).alarm() as later:
            with Clock(0.0).alarm() as at_once:
                assert at_once.all()
            with Clock(0.05).alarm() as soon:
                while not soon.all():  # raised by the thread, or this test does not end
                    time.sleep(0.001)
            assert not later.any()
    (thread,) = (t for t in threading.enumerate() if t.name == "bdcc_jax deadlines")
    assert thread.is_alive()
