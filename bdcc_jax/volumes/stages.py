"""The stages of a run: the same task for every block, by whoever runs tasks; who is told."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, TypeVar

from ..large.budget import BASE, as_bytes, cores, machine_memory
from ..large.front import SHARE
from ..large.result import BlockProgress, Callback
from ..large.runners import DaskWorkers, Here, Processes, Runner, check_client
from ..options import as_count
from ..show.block_progress import BlockPrinter
from .blocks import Plan

Value = TypeVar("Value")


class Stages:
    """Runs stages, measures them, and tells of every block.

    Attributes
    ----------
    seconds : dict from str to float
        How long each stage took.
    solving : dict
        What :func:`bdcc_jax.large.solve` is told of all this.
    """

    def __init__(
        self,
        plan: Plan,
        memory: int | str | None,
        workers: int | None,
        client: Any,
        progress: bool,
        callback: Callback | None,
    ) -> None:
        check_client(client)
        if callback is not None and not callable(callback):
            raise ValueError(f"callback must be callable, not {callback!r}")
        amount = int(SHARE * machine_memory()) if memory is None else as_bytes(memory)
        most = cores() if workers is None else as_count("workers", workers, at_least=1)
        self._blocks, self._client = plan.grid.blocks, client
        self._processes = _processes(plan, amount, most)
        self._callback, self._printer = callback, BlockPrinter(sys.stderr) if progress else None
        self._start = time.monotonic()
        self._runner: Runner | None = None
        self.seconds: dict[str, float] = {}
        self.solving: dict[str, Any] = {
            "memory": amount,
            "workers": most,
            "client": client,
            "callback": None if callback is None and not progress else self._told,
            "folder": plan.folder / "solve",
        }

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Inside the block there is somebody who runs tasks."""
        runner: Runner
        if self._client is not None:
            runner = DaskWorkers(self._client, self._processes)
        else:
            runner = Here() if self._processes == 1 else Processes(self._processes)
        with runner:
            self._runner = runner
            yield

    def run(self, name: str, task: Callable[[int], Any]) -> None:
        """Do a task for every block; an error of one ends all of it."""
        assert self._runner is not None
        runner = self._runner

        def all_blocks() -> None:
            done = runner.run(task, range(self._blocks), lambda: None)
            for count, _ in enumerate(done, start=1):
                spent = time.monotonic() - self._start
                self._told(BlockProgress(name, count, self._blocks, spent, -inf, inf))

        self.timed(name, all_blocks)

    def timed(self, name: str, stage: Callable[[], Value]) -> Value:
        """Do a stage, and take down how long it took."""
        start = time.monotonic()
        value = stage()
        self.seconds[name] = time.monotonic() - start
        return value

    def _told(self, state: BlockProgress) -> bool:
        if self._printer is not None:
            self._printer(state)
        return bool(self._callback(state)) if self._callback is not None else False


def _processes(plan: Plan, memory: int, workers: int) -> int:
    """Blocks that can be in work at the same time; an error if it is none."""
    need = BASE + plan.memory
    if need > memory:
        raise MemoryError(
            f"a block of {plan.grid.block_shape} voxels takes {need / 1e9:.2f} GB, and memory is "
            f"{memory / 1e9:.2f} GB: give more, or a smaller block_shape"
        )
    # The process that hands out blocks is one more, unless there is only one.
    return max(1, min(workers, (memory - BASE) // need, plan.grid.blocks))
