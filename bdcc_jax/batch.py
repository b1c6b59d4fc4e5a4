"""Many instances at once: :func:`solve_batch`."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from .attempt import Attempt
from .base import processes
from .base.clock import Clock
from .base.workers import usable_cores
from .combinations import check_together
from .io.convert import GraphLike, as_graph
from .options import Options, as_amount, as_count
from .result import Failure, Result
from .search.arguments import check_arguments
from .separation.device.devices import DeviceChoice, Devices, Host
from .separation.device.pool import Pool
from .show.batch_progress import BatchPrinter
from .weights import SuspiciousWeights, suspicion

POOLED = 64
"""Instances in work at the same time where their subproblems share batches."""


@dataclass(frozen=True, eq=False)
class BatchProgress:
    """What a callback of :func:`solve_batch` sees when an instance is done.

    Attributes
    ----------
    index : int
        Which of the graphs this is.
    result : Result or Failure
        What came out.
    done, failed, total : int
        Instances that are done, those of them that failed, and all.
    seconds : float
        Since the start.
    """

    index: int
    result: Result | Failure
    done: int
    failed: int
    total: int
    seconds: float

    @property
    def eta(self) -> float:
        """Seconds that the rest will take, if it takes as long an instance as what is done."""
        return self.seconds / self.done * (self.total - self.done)


BatchCallback = Callable[[BatchProgress], bool | None]
Place = Callable[[int], AbstractContextManager[Devices | Host]]


def solve_batch(
    graphs: Iterable[GraphLike],
    *,
    device: DeviceChoice = "auto",
    time_limit: float | None = None,
    time_limit_each: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    workers: int | None = None,
    callback: BatchCallback | None = None,
    progress: bool = False,
) -> list[Result | Failure]:
    """Solve many instances at the same time.

    Every instance is solved as :func:`bdcc_jax.solve` solves it. With the engine 'pdlp' the
    subproblems of all instances that wait at the same time are solved in one batched call, whatever
    the engine the masters run at the same time.

    Parameters
    ----------
    graphs : iterable
        Whatever :func:`bdcc_jax.solve` takes, a path for example. Files are read when it is their
        turn.
    device : str, jax.Device or list of these
        As for :func:`bdcc_jax.solve`. 'all': all devices of this process; where
        ``jax.distributed`` is initialised, every process solves its share of the instances on its
        own devices, and all of them return all results.
    time_limit : float, optional
        Seconds for the whole batch; instances that are not done by then return the best they have.
    time_limit_each : float, optional
        Seconds for each instance.
    gap, seed, options
        As for :func:`bdcc_jax.solve`, the same for all.
    workers : int, optional
        Instances in work at the same time. Default: as many as there are cores that this process
        may use; 64 with 'pdlp'. They share the threads of ``Options.threads``, one each at least.
    callback : callable, optional
        Called with a :class:`BatchProgress` when an instance is done, in the caller's thread;
        return True to stop.
    progress : bool
        Print what is done to the standard error stream.

    Returns
    -------
    list of Result or Failure
        One an instance, in order. A bad instance has a :class:`~bdcc_jax.Failure` with the status
        'error' and a message. Ctrl-C returns what there is: finished instances as they are, the
        others with their best bounds and the status 'interrupted'.

    Examples
    --------
    >>> import bdcc_jax
    >>> friends, foes = [[0, 1], [1, 0]], [[0, -1], [-1, 0]]
    >>> results = bdcc_jax.solve_batch([friends, foes, "no-such-file.txt"])
    >>> [str(result.status) for result in results]
    ['optimal', 'optimal', 'error']
    >>> results[2].message
    'no-such-file.txt: No such file or directory'
    """
    if isinstance(graphs, str | os.PathLike | tuple) or not isinstance(graphs, Iterable):
        raise ValueError(f"graphs must be a list of instances, not {type(graphs).__name__!r}")
    everything = list(graphs)
    options, devices, time_limit, gap, seed = check_arguments(
        device, time_limit, gap, seed, options, callback
    )
    if time_limit_each is not None:
        time_limit_each = as_amount("time_limit_each", time_limit_each)
    if workers is None:
        workers = POOLED if options.engine == "pdlp" else usable_cores()
    else:
        workers = as_count("workers", workers, at_least=1, what="None or an integer")
    mine = processes.share(len(everything)) if device == "all" else range(len(everything))
    printer = BatchPrinter(len(mine)) if progress else None

    def observe(state: BatchProgress) -> bool:
        if printer is not None:
            printer(state)
        return bool(callback(state)) if callback is not None else False

    workers = max(1, min(workers, len(mine)))
    batch = Batch(everything, options, gap, seed, time_limit, time_limit_each)
    results = batch.run(mine, devices, workers, observe)
    if batch.suspicious:
        count, first = len(batch.suspicious), min(batch.suspicious)
        warnings.warn(
            f"{count} of {len(mine)} instances, the first is number {first}: "
            f"{batch.suspicious[first]}",
            SuspiciousWeights,
            stacklevel=2,
        )
    if device == "all":
        results = processes.gather(results)
    return [results[i] for i in range(len(everything))]


class Batch:
    """The instances, and what is the same for all.

    Attributes
    ----------
    suspicious : dict from int to str
        The instances whose weights look like something else, and why.
    """

    def __init__(
        self,
        graphs: list[Any],
        options: Options,
        gap: float,
        seed: int,
        time_limit: float | None = None,
        time_limit_each: float | None = None,
    ) -> None:
        self._graphs, self._options, self._gap, self._seed = graphs, options, gap, seed
        self.suspicious: dict[int, str] = {}
        self._interrupted, self._stopped = Event(), Event()
        self._clock = Clock(time_limit, interrupted=self._interrupted)
        self._each = float("inf") if time_limit_each is None else time_limit_each

    def run(
        self,
        chosen: Sequence[int],
        devices: Devices | Host,
        workers: int,
        observe: Callable[[BatchProgress], bool],
    ) -> dict[int, Result | Failure]:
        """Solve the chosen instances in threads; Ctrl-C and observers that say so end them all."""
        place: Place = lambda _: nullcontext(devices)  # noqa: E731
        if isinstance(devices, Devices):
            place = Pool(devices, workers).member
        threads = max(1, (self._options.threads or usable_cores()) // workers)
        todo, done = iter(chosen), SimpleQueue[tuple[int, Result | Failure | BaseException]]()

        def work() -> None:
            for number in todo:  # two threads never get the same one
                try:
                    done.put((number, self._solve(number, place, threads)))
                except BaseException as error:
                    done.put((number, error))

        at_work = [Thread(target=work, name=f"bdcc_jax {k}") for k in range(workers)]
        results: dict[int, Result | Failure] = {}
        failed = 0
        try:
            for thread in at_work:
                thread.start()
            while len(results) < len(chosen):
                try:
                    # With a timeout, since a wait without one cannot be interrupted everywhere.
                    number, result = done.get(timeout=0.2)
                    if isinstance(result, BaseException):
                        raise result
                    results[number] = result
                    failed += isinstance(result, Failure)
                    progress = BatchProgress(
                        number, result, len(results), failed, len(chosen), self._clock.elapsed
                    )
                    if observe(progress):
                        self._stopped.set()
                except Empty:
                    continue
                except KeyboardInterrupt:
                    if self._interrupted.is_set():
                        raise
                    self._interrupted.set()
        finally:
            self._interrupted.set()  # for whoever is left if something was raised
            for thread in at_work:
                thread.join()
        return results

    def _solve(self, number: int, place: Place, threads: int) -> Result | Failure:
        try:
            graph = as_graph(self._graphs[number])
            check_together([*graph.features, *self._options.features])
            if (why := suspicion(graph)) is not None:
                self.suspicious[number] = why
            with place(number) as devices:
                attempt = Attempt(
                    graph,
                    self._options,
                    gap=self._gap,
                    seed=self._seed,
                    clock=self._clock.within(self._each),
                    device=devices,
                    threads=threads,
                )
                attempt.run(lambda _: self._stopped.is_set())
                return attempt.result()
        except Exception as error:  # of this instance alone
            return Failure(error)
