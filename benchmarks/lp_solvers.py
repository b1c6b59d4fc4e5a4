"""Other solvers for the same flow LPs, each as fast as we know how to call it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

import highspy
import jax
import numpy as np

from bdcc_jax.separation.device.balls import NODES
from bdcc_jax.separation.device.flow_lps import Problems


@dataclass(frozen=True, eq=False)
class FlowLPs:
    """Flow LPs end to end: LP b has ``nodes[b] : nodes[b + 1]``, its root first, and its edges."""

    nodes: np.ndarray
    edges: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    cost: np.ndarray
    capacity: np.ndarray
    reward: np.ndarray
    supply: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes) - 1

    @staticmethod
    def of(problems: Problems) -> FlowLPs:
        """The same LPs without padding: every edge once, and no nodes without any."""
        lanes = len(problems.supply)
        own = np.concatenate([np.tile(np.arange(NODES), (lanes, 1)), problems.owner], 1)
        tail, head = np.broadcast_arrays(own[:, None, :], problems.neighbor)
        # A slot at the root is the only one of its edge; of two slots the one of the larger end.
        at = np.nonzero((problems.capacity > 0) & (problems.neighbor < tail))
        count = 1 + np.maximum(tail, head).max(axis=(1, 2), where=problems.capacity > 0, initial=0)
        real = np.arange(NODES) < count[:, None]
        counts = count, np.bincount(at[0], minlength=lanes)
        starts = [np.concatenate([[0], np.cumsum(each)]) for each in counts]
        amounts = (problems.cost, problems.capacity)
        return FlowLPs(
            *starts,
            tail[at],
            head[at],
            *(array[at].astype(float) for array in amounts),
            *(array[real].astype(float) for array in (problems.reward, problems.supply)),
        )


FIELDS = tuple(field.name for field in fields(FlowLPs))


def highs(problems: FlowLPs) -> tuple[float, np.ndarray]:
    """Seconds in passModel and run, one LP after another, simplex without presolve; and values."""
    seconds, values = 0.0, []
    for b in range(len(problems)):
        lp = _highs_model(problems, b)
        solver = highspy.Highs()
        solver.silent()
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("threads", 1)
        begin = time.perf_counter()
        solver.passModel(lp)
        solver.run()
        seconds += time.perf_counter() - begin
        values.append(-solver.getInfo().objective_function_value)
    return seconds, np.array(values)


def _highs_model(problems: FlowLPs, b: int) -> highspy.HighsLp:
    """The split form f = f+ - f-, by columns, with a free row for the root."""
    nodes, tail, head, cost, capacity, reward, supply = _part(problems, b)
    edges, target = len(tail), np.flatnonzero(supply > 0)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 2 * edges + len(target), nodes
    lp.col_cost_ = np.concatenate([cost, cost, -reward[target]])
    lp.col_lower_ = np.zeros(lp.num_col_)
    lp.col_upper_ = np.concatenate([capacity, capacity, supply[target]])
    free = np.zeros(nodes)
    free[0] = highspy.kHighsInf
    lp.row_lower_, lp.row_upper_ = -free, free
    index = np.stack([np.concatenate([tail, head]), np.concatenate([head, tail])], 1).ravel()
    start = np.concatenate([np.arange(0, 4 * edges, 2), 4 * edges + np.arange(len(target) + 1)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = start.astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate([index, target]).astype(np.int32)
    lp.a_matrix_.value_ = np.concatenate([np.tile([1.0, -1.0], 2 * edges), -np.ones(len(target))])
    return lp


def _part(problems: FlowLPs, b: int) -> tuple:
    n = slice(problems.nodes[b], problems.nodes[b + 1])
    e = slice(problems.edges[b], problems.edges[b + 1])
    edges = (a[e] for a in (problems.tail, problems.head, problems.cost, problems.capacity))
    return (n.stop - n.start, *edges, problems.reward[n], problems.supply[n])


def ortools(problems: FlowLPs) -> float | None:
    """Seconds of SimpleMinCostFlow in a process of its own; None where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lps.npz"
        np.savez(path, **{field: getattr(problems, field) for field in FIELDS})
        script = Path(__file__).with_name("ortools_flow.py")
        run = subprocess.run([sys.executable, script, path], capture_output=True, text=True)
    return float(run.stdout) if run.returncode == 0 else None


def mpax(problems: FlowLPs, tolerance: float) -> tuple[float, float] | None:
    """Seconds of MPAX, vmapped over dense padded LPs, and the share solved; None if not there."""
    try:
        from mpax import create_lp, r2HPDHG
        from mpax.utils import TerminationStatus
    except ImportError:
        return None
    import jax.numpy as jnp

    parts = [_part(problems, b) for b in range(len(problems))]
    nodes = max(part[0] for part in parts)
    columns = max(2 * len(part[1]) + part[0] for part in parts)
    with jax.enable_x64(True):
        a = np.zeros((len(parts), nodes - 1, columns))
        c, upper = np.zeros((len(parts), columns)), np.zeros((len(parts), columns))
        for b, (n, tail, head, cost, capacity, reward, supply) in enumerate(parts):
            edges = len(tail)
            full = np.zeros((n, 2 * edges + n))
            full[tail, np.arange(edges)] = full[head, edges + np.arange(edges)] = 1
            full[head, np.arange(edges)] = full[tail, edges + np.arange(edges)] = -1
            full[np.arange(n), 2 * edges + np.arange(n)] = -1
            a[b, : n - 1, : full.shape[1]] = full[1:]
            c[b, : full.shape[1]] = np.concatenate([cost, cost, -reward])
            upper[b, : full.shape[1]] = np.concatenate([capacity, capacity, supply])
        solver = r2HPDHG(eps_abs=tolerance, eps_rel=tolerance, iteration_limit=5000, verbose=False)

        @jax.jit
        @jax.vmap
        def solve(c: jax.Array, a: jax.Array, upper: jax.Array) -> jax.Array:
            nothing = jnp.zeros((0, a.shape[1])), jnp.zeros(0)
            box = jnp.zeros_like(upper), upper
            lp = create_lp(c, a, jnp.zeros(a.shape[0]), *nothing, *box, use_sparse_matrix=False)
            return solver.optimize(lp).termination_status

        arrays = jax.device_put((c, a, upper))
        jax.block_until_ready(solve(*arrays))
        begin = time.perf_counter()
        status = np.asarray(jax.block_until_ready(solve(*arrays)))
        return time.perf_counter() - begin, float((status == TerminationStatus.OPTIMAL).mean())
