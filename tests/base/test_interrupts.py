"""No Ctrl-C gets lost."""

import gc
import os
import signal
import subprocess
import sys
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


@pytest.mark.parametrize("module", ["numba.core.serialize", "namedtuple_Heap"])
def test_ctrl_c_comes_when_numba_is_done(module):
    """Tables loaded by halves, or results without their types, would be the end of the process."""
    done = []
    at_work = {"__name__": module, "press": signal.raise_signal, "done": done}
    exec("def work():\n    press(2)\n    done.append(sum(range(10)))", at_work)

    def work_and_wait():
        at_work["work"]()
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), interrupts.interruptible():
        work_and_wait()
    assert done == [45]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


CHILD = """
import os, signal, threading, time
from typing import NamedTuple
import numba, numpy as np
from bdcc_jax.base.interrupts import interruptible

class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray

@numba.njit(nogil=True)
def work(turns):
    a = np.zeros(1000)
    for _ in range(turns):
        for i in range(1000):
            a[i] += i
    return Pair(a, 2 * a)

work(1)
for _ in range(10):
    pressed = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with interruptible():
            pressed.start()
            work(200_000)
            while True:
                time.sleep(0.01)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals to a process")
def test_ctrl_c_in_compiled_code_leaves_its_results_whole():
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    assert (child.returncode, child.stdout) == (0, 10 * "interrupted\n"), child.stderr
