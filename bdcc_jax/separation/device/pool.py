"""Solves that run at the same time share the devices: the LPs that wait go into one batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from time import monotonic

import numpy as np

from .batched import Settings
from .devices import Devices
from .flow_lps import Problems
from .limits import Check
from .paths_of_flow import Chains

logger = logging.getLogger(__name__)

PATIENCE = 0.05
"""Seconds that LPs wait for others while a device has nothing to do."""

POLL = 0.1
"""Seconds after which whoever waits looks at the clock."""


class Pool:
    """Joins the LPs of several solves, each in a thread of its own.

    A batch starts when all solves wait for one, or when one has waited long enough; what comes in
    while it runs goes into the next one. The answer to an LP does not depend on its company.

    Parameters
    ----------
    devices : Devices
        Shared by all.
    workers : int
        Solves that run at the same time, at most.
    """

    def __init__(self, devices: Devices, workers: int) -> None:
        self._devices, self._workers = devices, workers
        self._changed = Condition()
        self._members = 0
        self._waiting: list[_Request] = []
        self._busy = False

    @contextmanager
    def member(self, number: int) -> Iterator[Devices]:
        """The devices as one solve sees them; what is done on one device is spread over all."""
        every = self._devices.devices
        rotated = tuple(every[(number + i) % len(every)] for i in range(len(every)))
        with self._changed:
            self._members += 1
        try:
            yield _Share(rotated, max(1, self._devices.budget // self._workers), self)
        finally:
            with self._changed:
                self._members -= 1
                self._changed.notify_all()

    def solve_balls(self, problems: Problems, settings: Settings, check: Check) -> Chains:
        """Solve LPs, together with those of others if these wait too."""
        request = _Request(problems, settings, check)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify_all()
            while request.pending:
                chosen = self._choose()
                if chosen:
                    self._busy = True
                    break
                self._changed.wait(PATIENCE if not self._busy else POLL)
                try:
                    check()
                except BaseException:
                    # Whoever has taken it already works for nobody.
                    self._waiting = [other for other in self._waiting if other is not request]
                    raise
        if request.pending:
            try:
                self._run(chosen)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
        if request.error is not None:
            raise request.error
        if request.chains is None:  # joined they failed: everyone for himself
            return self._devices.solve_balls(problems, settings, check)
        return request.chains

    def _choose(self) -> list[_Request]:
        """The requests of the next batch, if it is time for one."""
        if self._busy or not self._waiting:
            return []
        first = self._waiting[0]
        if len(self._waiting) < self._members and monotonic() < first.since + PATIENCE:
            return []
        chosen = [request for request in self._waiting if request.settings == first.settings]
        self._waiting = [other for other in self._waiting if other.settings != first.settings]
        return chosen

    def _run(self, requests: list[_Request]) -> None:
        parts = [request.problems for request in requests]
        ends = np.cumsum([len(part.supply) for part in parts])[:-1]
        try:
            chains = self._devices.solve_balls(
                Problems(*map(np.concatenate, zip(*parts, strict=True))),
                requests[0].settings,
                lambda: _check(requests),
            )
            split = zip(*(np.split(array, ends, axis=1) for array in chains), strict=True)
            for request, part in zip(requests, split, strict=True):
                request.chains = Chains(*part)
        except Exception:
            # Nobody is left, or something is wrong: each finds out by itself.
            logger.info("a batch of %d solves failed: each goes on by itself", len(requests))
        finally:
            for request in requests:
                request.pending = False


class _Request:
    def __init__(self, problems: Problems, settings: Settings, check: Check) -> None:
        self.problems, self.settings, self.check = problems, settings, check
        self.since = monotonic()
        self.pending = True
        self.chains: Chains | None = None
        self.error: BaseException | None = None


class _Abandoned(Exception):
    """Everyone who waits for a batch has given up."""


def _check(requests: list[_Request]) -> None:
    """Note whose time is up; the others go on."""
    for request in requests:
        if request.error is None:
            try:
                request.check()
            except BaseException as error:
                request.error = error
    if all(request.error is not None for request in requests):
        raise _Abandoned


@dataclass(frozen=True)
class _Share(Devices):
    """The devices as one of several solves sees them."""

    pool: Pool | None = None

    def solve_balls(self, problems: Problems, settings: Settings, check: Check) -> Chains:
        """Solve LPs together with those of others."""
        assert self.pool is not None
        return self.pool.solve_balls(problems, settings, check)
