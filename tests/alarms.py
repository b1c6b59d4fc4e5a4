"""Deadlines that fall where a test wants them to, and not where a clock does."""

import time
from contextlib import contextmanager

from bdcc_jax.base.clock import Clock, TimeLimitReached


class Alarm:
    """A flag that is raised once it has been looked at so many times."""

    def __init__(self, after):
        self.looks, self.after = 0, after

    def __getitem__(self, _):
        self.looks += 1
        return self.looks > self.after


def set_alarm(monkeypatch, after, *modules):
    """Let the loops of some modules find the flag raised after so many looks, in all of them.

    Compiled code takes nothing but an array for a flag: what looks at one is interpreted, and so
    is what shares a list with it.
    """
    alarm = Alarm(after)
    for module in modules:
        for name, function in list(vars(module).items()):
            plain = getattr(function, "py_func", None)
            kinds = {} if plain is None else plain.__annotations__
            if "stop" in kinds or any("list[" in str(kind) for kind in kinds.values()):
                monkeypatch.setattr(module, name, plain)

    @contextmanager
    def raised(_):
        yield alarm

    monkeypatch.setattr(Clock, "alarm", raised)
    return alarm


def time_is_up_in_round(monkeypatch, number):
    """Let time stand still until the callback that is returned has seen this round."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def pass_time(progress):
        now[0] = 1e9 * (progress.round.number >= number)

    return pass_time


class CountingClock(Clock):
    """A clock without a limit whose time is up once it has been asked so many times."""

    def __init__(self, after=10**9):
        super().__init__(None)
        self.checks, self.after = 0, after

    def check(self):
        self.checks += 1
        if self.checks > self.after:
            raise TimeLimitReached
