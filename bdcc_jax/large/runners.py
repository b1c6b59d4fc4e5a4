"""Who runs the tasks: this process, a pool of processes, or the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from threading import Thread
from typing import Any, Protocol

from ..base.clock import TimeLimitReached
from ..base.environment import install_hint

RETRIES = 3
"""How often Dask tries a block again whose worker has died."""

PATIENCE = 0.2
"""Seconds between two looks at the clock while processes work."""


LOST = 10.0
"""Seconds without an answer after which a scheduler is given up."""

LATE = "late"
"""What a task returns that its deadline has ended."""


class Punctual:
    """A function that may be ended by its deadline, and says so, in whichever process."""

    def __init__(self, function: Callable[[int], Any]) -> None:
        self._function = function

    def __call__(self, number: int) -> Any:
        """Do it."""
        try:
            return self._function(number)
        except TimeLimitReached:
            return LATE


class WorkersLost(RuntimeError):
    """Workers have gone; results that are there stay, and the next run goes on from them."""


class Runner(Protocol):
    """Runs a function for every number, and yields what is done, in any order."""

    def run(
        self,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        check: Callable[[], None],
        at_once: int | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results; ``check`` is called often, and raises to end all of it.

        No more than ``at_once`` are in work on this machine at the same time, if that is given.
        """

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...


class Here:
    """One block after another, in this process."""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(
        self,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        check: Callable[[], None],
        at_once: int | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results, in order."""
        for number in numbers:
            check()
            yield number, function(number)


class Processes:
    """As many blocks at the same time as there are processes."""

    def __init__(self, workers: int) -> None:
        self._workers, self._abandoned = workers, False
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        # Not by fork, which JAX' threads do not survive.
        self._pool = ProcessPoolExecutor(
            self._workers, multiprocessing.get_context("spawn"), initializer=_begin
        )
        return self

    def __exit__(self, *_: object) -> None:
        pool = self._pool
        if pool is not None:
            busy = list((pool._processes or {}).values()) if self._abandoned else []
            pool.shutdown(wait=not busy, cancel_futures=True)
            for process in busy:  # nobody waits for them, and what they write is whole or not there
                process.terminate()

    def run(
        self,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        check: Callable[[], None],
        at_once: int | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results as they come."""
        assert self._pool is not None
        left: dict[Future[Any], int] = {}
        try:
            waiting, most = list(reversed(numbers)), 2 * self._workers  # one of each waits
            while left or waiting:
                check()
                while waiting and len(left) < (most if at_once is None else min(most, at_once)):
                    number = waiting.pop()
                    left[self._pool.submit(function, number)] = number
                done, _ = wait(left, PATIENCE, FIRST_COMPLETED)
                for future in sorted(done, key=left.__getitem__):
                    number = left.pop(future)
                    yield number, future.result()
        except BrokenProcessPool as error:
            raise WorkersLost(
                "a worker process has died: killed, out of memory (give a smaller memory= or "
                "smaller blocks), or, in a script, because solve is not called below "
                "if __name__ == '__main__'; what is finished is kept, run again to go on"
            ) from error
        finally:
            for future in left:
                self._abandoned |= not future.cancel() and not future.done()


class DaskWorkers:
    """The workers of a Dask cluster, which see the same folders.

    Parameters
    ----------
    client : dask.distributed.Client, str
        A client; the address of a scheduler; or 'local', for a cluster of processes here.
    workers : int
        Processes of a local cluster.
    """

    def __init__(self, client: Any, workers: int) -> None:
        self._distributed = require_distributed()
        self._given, self._workers = client, workers
        self._mine: list[Any] = []
        self._client, self._answered = client, time.monotonic()

    def __enter__(self) -> DaskWorkers:
        distributed, client = self._distributed, self._given
        if client == "local":
            cluster = distributed.LocalCluster(
                n_workers=self._workers, threads_per_worker=1, dashboard_address=None
            )
            self._client = distributed.Client(cluster)
            self._mine = [self._client, cluster]
        elif isinstance(client, str):
            try:
                self._client = distributed.Client(client, timeout="10s")
            except (OSError, ValueError) as error:
                raise WorkersLost(f"no scheduler of Dask answers at {client!r}: {error}") from error
            self._mine = [self._client]
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._mine:
            each.close()

    def run(
        self,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        check: Callable[[], None],
        at_once: int | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results as they come."""
        distributed = self._distributed
        check()
        left: dict[Any, int] = {}
        try:
            # Tasks write files: a result that the scheduler has lost is not computed again.
            waiting = list(reversed(numbers))
            # What other machines hold is for whoever has started the workers to say.
            most = at_once if at_once and self._given == "local" else len(numbers)
            while left or waiting:
                check()
                self._look()
                while waiting and len(left) < most:
                    number = waiting.pop()
                    task = partial(function, number)
                    left[self._client.submit(task, pure=False, retries=RETRIES)] = number
                try:
                    done, _ = distributed.wait(
                        list(left), timeout=PATIENCE, return_when="FIRST_COMPLETED"
                    )
                except (TimeoutError, distributed.TimeoutError):
                    continue
                for future in sorted(done, key=left.__getitem__):
                    number = left.pop(future)
                    yield number, future.result()
        except (
            distributed.comm.CommClosedError,
            distributed.client.FutureCancelledError,
            distributed.scheduler.KilledWorker,
        ) as error:
            raise WorkersLost(
                f"Dask has lost its scheduler, or a block {RETRIES} workers ({error}); what is "
                "finished is kept, run again to go on"
            ) from error
        finally:
            if self._client.status == "running":
                self._client.cancel(list(left))

    def _look(self) -> None:
        """Give up a scheduler that has not answered for a while; clients try again themselves."""
        now = time.monotonic()
        if self._client.status == "running":
            self._answered = now
        elif now > self._answered + LOST or self._client.status in ("closed", "closing"):
            raise self._distributed.comm.CommClosedError("the scheduler does not answer")


def require_distributed() -> Any:
    """The package distributed, or an error that says how to get it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(f"client= needs Dask: {install_hint('distributed')}") from error
    return distributed


def check_client(client: Any) -> None:
    """Refuse what is neither a client of Dask nor the address of a scheduler; None is nobody."""
    if client is None:
        return
    distributed = require_distributed()
    if not isinstance(client, str | distributed.Client):
        raise ValueError(
            f"client must be a dask.distributed.Client, an address, or 'local', not {client!r}"
        )


def _begin() -> None:
    """Ctrl-C goes to all processes of a terminal: the first one decides, and none outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(parent: Any) -> None:
    """After a kill of the first process the others would wait for tasks for ever."""
    parent.join()
    os._exit(1)
