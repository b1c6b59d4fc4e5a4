"""How cost grows: graphs that are made, and solved, block by block.

``python -m benchmarks.large --sizes 1000000 3000000`` prints a line a size: seconds, the peak
memory of all processes together, the certified gap; and the exponent by which time grows.

The instances are grids of which nobody ever holds more than a tile. In the plane every square has
one of its diagonals (3 n edges, a planar graph); in space there are three diagonals a cube (6 n
edges, about the degree of a graph of supervoxels). A node belongs to the nearest of jittered
centres, one for every 25 (27) nodes; an edge inside a region has weight 0.9 and one between regions
-0.9, plus normal noise of deviation 1, as in ``benchmarks.instances.planar``. All that is random is
a hash of where it is, so that neighbouring tiles agree.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from math import log
from pathlib import Path

import numpy as np

from bdcc_jax import large
from bdcc_jax.base.arrays import FloatArray, IntArray

REGION = {2: 5, 3: 3}
"""Nodes between two centres along an axis."""


def hashed(*numbers: IntArray | int) -> FloatArray:
    """A uniform number in (0, 1) for every tuple of whole numbers; the steps are splitmix64's."""
    code = np.zeros(np.broadcast_shapes(*(np.shape(x) for x in numbers)), np.uint64)
    for number in numbers:
        code = (code ^ np.asarray(number).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        code ^= code >> np.uint64(31)
    return (code >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54


def region(places: IntArray, seed: int) -> IntArray:
    """The nearest centre of every node; centres are jittered in the cells of a coarser grid."""
    dimensions = places.shape[1]
    cell = places // REGION[dimensions]
    best, nearest = np.full(len(places), np.inf), np.zeros(len(places), np.int64)
    for step in itertools.product((-1, 0, 1), repeat=dimensions):
        other = cell + np.array(step)
        key = [other[:, k] + 2**20 for k in range(dimensions)]
        centre = np.stack(
            [(other[:, k] + hashed(seed, 1 + k, *key)) for k in range(dimensions)], axis=1
        )
        distance = ((centre * REGION[dimensions] - places) ** 2).sum(axis=1)
        closer = distance < best
        best[closer] = distance[closer]
        code = sum(number << (21 * k) for k, number in enumerate(key))
        nearest[closer] = code[closer]
    return nearest


def steps(places: IntArray, seed: int) -> list[tuple[IntArray, IntArray]]:
    """The edges that begin at nodes: from where, and to where."""
    axes = np.eye(places.shape[1], dtype=np.int64)
    found = [(places, places + axis) for axis in axes]
    if places.shape[1] == 2:
        falls = hashed(seed, 7, *places.T) < 0.5
        begin = np.where(falls[:, None], places, places + axes[1])
        return [*found, (begin, np.where(falls[:, None], places + axes.sum(0), places + axes[0]))]
    return found + [(places, places + axes.sum(0) - axis) for axis in axes]


def weights(a: IntArray, b: IntArray, seed: int) -> FloatArray:
    """Of edges, by where their ends are."""
    inside = region(a, seed) == region(b, seed)
    one, other = hashed(seed, 11, *a.T, *b.T), hashed(seed, 12, *a.T, *b.T)
    noise = np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * np.pi * other)
    return np.where(inside, 0.9, -0.9) + noise


def write_grid(
    folder: Path, dimensions: int, tiles: int, side: int, seed: int = 0
) -> large.BlockStore:
    """Write a grid of ``tiles`` tiles along each axis, each with ``side`` nodes along each axis."""
    writer = large.BlockWriter(folder)
    within = np.indices((side,) * dimensions).reshape(dimensions, -1).T
    numbers = np.arange(tiles**dimensions)
    for tile in numbers.tolist():
        corner = np.array(np.unravel_index(tile, (tiles,) * dimensions)) * side
        pairs = [(a, b) for a, b in steps(within + corner, seed)]
        a, b = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        there = (np.maximum(a, b) < tiles * side).all(axis=1)
        a, b = a[there], b[there]
        w = weights(a, b, seed)
        shape = (tiles,) * dimensions
        first, second = (np.ravel_multi_index(tuple((x // side).T), shape) for x in (a, b))
        u, v = (np.ravel_multi_index(tuple((x % side).T), (side,) * dimensions) for x in (a, b))
        own = (first == tile) & (second == tile)
        writer.write_block(tile, side**dimensions, u[own], v[own], w[own])
        for low, high in np.unique(
            np.stack([np.minimum(first, second), np.maximum(first, second)], 1)[~own], axis=0
        ).tolist():
            _spill(folder, low, high, first, u, v, w, (first == low) & (second == high))
            _spill(folder, low, high, first, u, v, w, (first == high) & (second == low))
    for file in sorted(folder.glob("part-*.npy")):
        _, low, high = file.stem.split("-")
        records = np.fromfile(file).reshape(-1, 3)
        writer.write_face(
            int(low), int(high), *records[:, :2].T.astype(np.int64), records[:, 2].copy()
        )
        file.unlink()
    return writer.finish(len(numbers))


def _spill(
    folder: Path,
    low: int,
    high: int,
    first: IntArray,
    u: IntArray,
    v: IntArray,
    w: FloatArray,
    chosen: np.ndarray,
) -> None:
    """Append edges of a face, some of which begin in a third tile, to its file."""
    if chosen.any():
        ends = (u, v) if first[chosen][0] == low else (v, u)
        with (folder / f"part-{low}-{high}.npy").open("ab") as file:
            np.stack([ends[0][chosen], ends[1][chosen], w[chosen]], axis=1).tofile(file)


class Peak(threading.Thread):
    """The largest resident memory of this process and its children together, in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes, self._over = 0, threading.Event()

    def run(self) -> None:
        """Look every 0.2 seconds."""
        while not self._over.wait(0.2):
            self.bytes = max(self.bytes, sum(_resident(pid) for pid in _family()))

    def stop(self) -> int:
        """The peak."""
        self._over.set()
        self.join()
        return self.bytes


def _family() -> list[int]:
    """Process ids: of this one and those that it has started, at any remove."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(after_name[1])
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return list(family)


def _resident(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000])
    parser.add_argument("--dimensions", type=int, choices=(2, 3), default=2)
    parser.add_argument("--block", type=int, default=100_000, help="nodes of a block")
    parser.add_argument("--memory", default="12GB")
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, or 'local'")
    parser.add_argument("--folder", help="keep stores and results there, and take them up again")
    parser.add_argument("--json", help="write the lines there, too")
    arguments = parser.parse_args(argv)
    root = Path(arguments.folder or tempfile.mkdtemp(prefix="bdcc-large-"))
    rows = []
    print(
        f"{'nodes':>10} {'edges':>11} {'blocks':>6} {'make s':>7} {'solve s':>8} {'peak GB':>8} "
        f"{'gap %':>8} {'objective':>14} {'lower bound':>14}  status",
        flush=True,
    )
    try:
        for size in arguments.sizes:
            d = arguments.dimensions
            tiles = max(2, round((size / arguments.block) ** (1 / d)))
            side = round(size ** (1 / d) / tiles)
            place = root / f"grid{d}-{tiles}-{side}"
            start = time.monotonic()
            if (place / "store.json").exists():
                store = large.BlockStore(place)
            else:
                store = write_grid(place, d, tiles, side)
            made = time.monotonic() - start
            peak = Peak()
            peak.start()
            found = large.solve(
                place,
                memory=arguments.memory,
                gap=arguments.gap,
                passes=arguments.passes,
                prove=arguments.prove,
                time_limit=arguments.time_limit,
                workers=arguments.workers,
                client=arguments.scheduler,
                progress=True,
            )
            rows.append(found.to_dict() | {"make": made, "peak": peak.stop(), "dimensions": d})
            print(
                f"{store.n:>10} {store.m:>11} {store.n_blocks:>6} {made:>7.1f} "
                f"{found.seconds:>8.1f} {rows[-1]['peak'] / 1e9:>8.2f} {100 * found.gap:>8.4f} "
                f"{found.objective:>14.6g} {found.lower_bound:>14.6g}  {found.status}",
                flush=True,
            )
    finally:
        if arguments.folder is None:
            shutil.rmtree(root, ignore_errors=True)
    if len(rows) > 1:
        x, y = [log(row["n"]) for row in rows], [log(row["seconds"]) for row in rows]
        print(f"seconds grow like n^{np.polyfit(x, y, 1)[0]:.2f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
