"""What is done with one block, by whichever process: it reads files, and writes one.

A file that is there is a result: it came to be by renaming, lies in a folder that is named by what
all of this depends on, and holds a digest. So a task that is run again after a kill, or twice by a
scheduler, writes the same, and one that is cut short writes nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..attempt import solve_graph
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.sums import common_unit, exact_sum, sum_down, sum_up
from ..instance.graph import Graph
from ..io.files import FormatError
from ..options import Options
from .ascent import Effort, Relaxed, relax, relax_and_cluster
from .faces import Rest, cluster_rest, open_edges, open_nodes, price_rest
from .store import BlockStore
from .store_files import digest_of_arrays, read_npz, write_npz
from .store_writer import BlockWriter

PRICES, CLUSTERS = "prices", "clusters"
"""Kinds of results of a block; labels are of a kind of their own for every level they are from."""

ROUNDING = 2.0**-50
"""What is lost of an edge whose weight is divided, at most, as a share of the parts."""


@dataclass(frozen=True)
class Level:
    """A store, where the results of its blocks are, and which blocks become one on the next level.

    Attributes
    ----------
    store, folder : str
        Folders.
    groups : tuple of tuples of int
        The blocks that each block of the next level is made of; empty while nobody knows.
    """

    store: str
    folder: str
    groups: tuple[tuple[int, ...], ...] = ()

    def file(self, kind: str, block: int) -> Path:
        """Where a result of a block is."""
        return Path(self.folder) / f"{kind}-{block:06d}.npz"

    @property
    def proof(self) -> str:
        """The kind of proofs: of all weights of a block, or of those that it does not give away.

        Which of them depends on whether there is a next level, and that on the memory of the run.
        """
        return "proof-of-rest" if self.groups else "proof-of-all"

    def group_of(self, block: int) -> int:
        """The block of the next level that a block is in."""
        return next(g for g, members in enumerate(self.groups) if block in members)


@dataclass(frozen=True)
class Task:
    """What a task is told: its level, how far to go, and until when.

    Attributes
    ----------
    before : tuple of Level
        The levels of the last pass, of which prices are taken over; empty in the first.
    deadline : float
        By ``time.time()``.
    """

    level: Level
    effort: Effort
    before: tuple[Level, ...] = ()
    deadline: float = float("inf")

    @property
    def clock(self) -> Clock:
        """Ends at the deadline."""
        left = self.deadline - time.time()
        return Clock(None if left == float("inf") else max(0.0, left))


def result(level: Level, kind: str, block: int) -> dict[str, np.ndarray] | None:
    """A result that is there and whole, or None."""
    try:
        arrays = read_npz(level.file(kind, block))
    except (FileNotFoundError, FormatError):
        return None
    if str(arrays.pop("digest", "")) != digest_of_arrays(arrays):
        return None
    return arrays


def summary(level: Level, kind: str, block: int) -> dict[str, float] | None:
    """The numbers of a result that is there."""
    arrays = result(level, kind, block)
    return None if arrays is None else _summary(arrays, digest_of_arrays(arrays))


def relax_block(task: Task, block: int) -> dict[str, float]:
    """The lower bound of a block, and what its edges near faces can give."""
    store = BlockStore(task.level.store)
    graph, held = _with_prices(store, task, block)
    return _write_prices(store, task, block, graph, relax(graph, task.effort, task.clock), held)


def cluster_block(task: Task, block: int) -> dict[str, float]:
    """A clustering of a block, and what is left to be decided of it."""
    store = BlockStore(task.level.store)
    graph = store.block(block)
    _, labels = relax_and_cluster(graph, task.effort, task.clock)
    return _write_clusters(store, task, block, graph, labels)


def relax_and_cluster_block(task: Task, block: int) -> dict[str, float]:
    """Both, of one ascent."""
    store = BlockStore(task.level.store)
    graph = store.block(block)
    relaxed, labels = relax_and_cluster(graph, task.effort, task.clock)
    clusters = _write_clusters(store, task, block, graph, labels)
    prices = _write_prices(store, task, block, graph, relaxed, None)
    return {f"{PRICES} {k}": x for k, x in prices.items()} | {
        f"{CLUSTERS} {k}": x for k, x in clusters.items()
    }


def gather(level: Level, kind: str, target: str, group: int) -> None:
    """Write a block of the next level, and its faces to higher ones."""
    store, writer = BlockStore(level.store), BlockWriter(target)
    of_block = {b: g for g, members in enumerate(level.groups) for b in members}
    offsets, n = _offsets(level, kind, group)
    u, v, w = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    place: dict[int, IntArray] = {}
    for member, offset in offsets.items():
        rest = _needed(level, kind, member)
        u.append(rest["u"] + offset)
        v.append(rest["v"] + offset)
        w.append(rest["w"])
        place[member] = rest["place"].astype(np.int64) + offset
    across: dict[int, list[tuple[IntArray, IntArray, FloatArray]]] = {}
    for a, b in sorted(store.faces, key=lambda ab: (of_block[ab[0]], of_block[ab[1]], ab)):
        other = max(of_block[a], of_block[b])
        if min(of_block[a], of_block[b]) != group:
            continue
        face = store.face(a, b)
        ends = {a: face.u, b: face.v}
        mine, beyond = (a, b) if of_block[a] == group else (b, a)
        if other == group:
            u.append(place[mine][ends[mine]])
            v.append(place[beyond][ends[beyond]])
            w.append(face.w)
            continue
        there = _needed(level, kind, beyond)["place"].astype(np.int64)
        there += _offsets(level, kind, other)[0][beyond]
        part = place[mine][ends[mine]], there[ends[beyond]], face.w
        across.setdefault(other, []).append(part)
    writer.write_block(group, n, np.concatenate(u), np.concatenate(v), np.concatenate(w))
    for other, parts in across.items():
        first, second, weights = zip(*parts, strict=True)
        columns = np.concatenate(first), np.concatenate(second), np.concatenate(weights)
        writer.write_face(group, other, *columns)


def _offsets(level: Level, kind: str, group: int) -> tuple[dict[int, int], int]:
    """Where the rests of the blocks of a group begin in it, and how many nodes it has."""
    offsets, n = {}, 0
    for member in level.groups[group]:
        offsets[member] = n
        n += int(read_npz(level.file(kind, member), ("n",))["n"])
    return offsets, n


def label_block(
    level: Level,
    kind: str,
    above: Level | None,
    firsts: tuple[int, ...],
    missing: frozenset[int],
    block: int,
) -> None:
    """Write the final clusters of a block, under a name: of what was left, by the level above.

    Without a level above, its own clusters are all there is; a block that is missing is one
    cluster. The first cluster that is decided here has the number ``firsts[block]``.
    """
    if block in missing:
        labels = np.full(BlockStore(level.store).size(block)[0], firsts[block])
        write_labels(level, kind, block, labels)
        return
    arrays = _needed(level, CLUSTERS, block)
    if above is None:
        labels = arrays["labels"].astype(np.int64) + firsts[block]
    else:
        place, group = arrays["place"].astype(np.int64), level.group_of(block)
        offset = _offsets(level, CLUSTERS, group)[0][block]
        upper = _needed(above, kind, group)["labels"]
        decided = place < 0
        labels = np.empty(len(place), np.int64)
        labels[~decided] = upper[place[~decided] + offset]
        labels[decided] = firsts[block] - 1 - place[decided]
    write_labels(level, kind, block, labels)


def write_labels(level: Level, kind: str, block: int, labels: IntArray) -> None:
    """Write the clusters of a block, under a name."""
    _write(level, kind, block, {"labels": labels})


def labels_of(level: Level, kind: str, block: int) -> IntArray:
    """The clusters that :func:`label_block` has written."""
    return _needed(level, kind, block)["labels"]


def cost_block(level: Level, kind: str, block: int) -> dict[str, float]:
    """What the final clusters cost inside a block and in its faces to higher ones; exact."""
    store = BlockStore(level.store)
    graph, labels = store.block(block), labels_of(level, kind, block)
    parts, weights = [graph.weights[graph.cut(labels)]], [graph.weights]
    for other in store.neighbours(block):
        if other > block:
            face, beyond = store.face(block, other), labels_of(level, kind, other)
            parts.append(face.w[labels[face.u] != beyond[face.v]])
            weights.append(face.w)
    every = np.concatenate(weights)
    high, low = exact_sum(np.concatenate(parts))
    return {
        "cost": high,
        "cost_low": low,
        "m": float(len(every)),
        "smallest": float(np.abs(every).min(initial=np.inf)),
        "sum": sum_up(np.abs(every)),
        "unit": common_unit(every),
    }


def prove_block(
    task: Task, options: Options, gap: float, seed: int, block: int
) -> dict[str, float]:
    """The lower bound of a block, without what it gave away, by the ordinary solve."""
    store, level = BlockStore(task.level.store), task.level
    graph, held = store.block(block), _needed(level, PRICES, block)
    weights, off = graph.weights.copy(), 0.0
    if level.groups:
        index = held["index"]
        weights[index] -= held["w"]
        off = ROUNDING * float(np.abs(graph.weights[index]).sum() + np.abs(held["w"]).sum())
    left = weights != 0.0
    rest = Graph._trusted(graph.n, graph.edges[left], weights[left])
    bound = 0.0
    if rest.m:
        clock, alone = task.clock, replace(options, threads=1)  # others have the other cores
        found = solve_graph(rest, time_limit=clock.remaining, gap=gap, seed=seed, options=alone)
        clock.check()
        bound = sum_down([found.lower_bound, -off])
    return _write(level, level.proof, block, {"bound": np.asarray(bound)})


def _with_prices(store: BlockStore, task: Task, block: int) -> tuple[Graph, FloatArray | None]:
    """A block without what it has given away, and that."""
    graph = store.block(block)
    if not task.before:
        return graph, None
    arrays = _needed(task.before[0], PRICES, block)
    index = arrays["index"]
    held = np.zeros(graph.m)
    held[index] = arrays["w"] - _residual(task.before, block)[index]
    return graph._with_weights(graph.weights - held), held


def _residual(levels: tuple[Level, ...], block: int) -> FloatArray:
    """What nobody needs of the weights of a block, wherever they were given to."""
    level, arrays = levels[0], _needed(levels[0], PRICES, block)
    residual: FloatArray = arrays["reduced"].copy()
    index = arrays["index"]
    if len(levels) == 1 or len(index) == 0:
        return residual
    group = level.group_of(block)
    offset = _offsets(level, PRICES, group)[0][block]
    upper = BlockStore(levels[1].store).block(group)
    keys = upper.edges[:, 0] * upper.n + upper.edges[:, 1]
    wanted = (arrays["u"] + offset) * upper.n + arrays["v"] + offset
    at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    found = keys[at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    back = np.zeros(len(wanted))  # of edges of weight 0, which no store has
    back[found] = _residual(levels[1:], group)[at[found]]
    residual[index] = back
    return residual


def _at_faces(store: BlockStore, block: int) -> IntArray:
    ends = [np.empty(0, np.int64)]
    for other in store.neighbours(block):
        face = store.face(min(block, other), max(block, other))
        ends.append(face.u if block < other else face.v)
    return np.concatenate(ends)


def _write_prices(
    store: BlockStore,
    task: Task,
    block: int,
    graph: Graph,
    relaxed: Relaxed,
    held: FloatArray | None,
) -> dict[str, float]:
    open_ = open_nodes(graph, _at_faces(store, block), task.effort)
    given: BoolArray = open_edges(graph, open_)
    rest = price_rest(graph, relaxed, open_, None if held is None else held[given])
    full, kept = relaxed.bound, relaxed.bound_without(given)
    if held is not None:
        # The block holds its weights without ``held``, and later without ``rest.w``, both rounded.
        touched = held != 0.0
        parts = np.abs(graph.weights[touched]).sum() + 2.0 * np.abs(held[touched]).sum()
        off = ROUNDING * float(parts + 2.0 * np.abs(rest.w).sum())
        # If nobody comes after, nobody else holds what was given before: at worst it is all cut.
        full = sum_down([full, -off, *held[held < 0.0]])
        kept = sum_down([kept, -off])
    return _write(
        task.level,
        PRICES,
        block,
        {
            "full": np.asarray(full),
            "kept": np.asarray(kept),
            **_arrays(rest),
            "index": np.flatnonzero(given),
            "reduced": relaxed.reduced,
        },
    )


def _write_clusters(
    store: BlockStore, task: Task, block: int, graph: Graph, labels: IntArray
) -> dict[str, float]:
    open_ = open_nodes(graph, _at_faces(store, block), task.effort)
    rest, decided = cluster_rest(graph, labels, open_)
    return _write(
        task.level,
        CLUSTERS,
        block,
        {
            "decided": np.asarray(decided),
            "clusters": np.asarray(int(labels.max(initial=-1)) + 1),
            **_arrays(rest),
            "labels": labels.astype(np.int32),
        },
    )


def _arrays(rest: Rest) -> dict[str, np.ndarray]:
    return {"m": np.asarray(len(rest.w)), **{k: np.asarray(x) for k, x in rest._asdict().items()}}


def _write(level: Level, kind: str, block: int, arrays: dict[str, Any]) -> dict[str, float]:
    digest = digest_of_arrays(arrays)
    write_npz(level.file(kind, block), {**arrays, "digest": np.asarray(digest)})
    return _summary(arrays, digest)


def _summary(arrays: dict[str, np.ndarray], digest: str) -> dict[str, float]:
    """The numbers of a result, and as one more what tells it from others of the same block."""
    numbers = {name: float(array) for name, array in arrays.items() if array.ndim == 0}
    return {**numbers, "content": float(int(digest[:13], 16))}  # 52 bits, exact in float64


def _needed(level: Level, kind: str, block: int) -> dict[str, np.ndarray]:
    arrays = result(level, kind, block)
    if arrays is None:
        raise FormatError(
            f"{level.file(kind, block)} has gone, or is damaged; run again, to go on without it"
        )
    return arrays
