"""From affinities in zarr to a segmentation: seconds of every stage, memory, bounds and quality.

    python -m benchmarks.volumes --shape 256 1024 1024 --folder /tmp/volume

Makes a volume of cells with known truth block by block (benchmarks/cell_volume.py), unless it is
in the folder already, segments it, and compares regions and truth slab by slab. Memory is that of
all processes together (RSS, in which pages that processes share count for each).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import zarr

from bdcc_jax.metrics import adjusted_rand_index, split_and_merge
from bdcc_jax.volumes import segment_volume

from .cell_volume import write_volume
from .large import Peak
from .markdown import print_header, print_row


def compared(truth: Path, regions: Path) -> tuple[float, float, float]:
    """Adjusted Rand index, split and merge in bits; pairs of labels are counted slab by slab."""
    true, found = zarr.open_array(str(truth), mode="r"), zarr.open_array(str(regions), mode="r")
    thick = true.chunks[0]
    parts = []
    for start in range(0, true.shape[0], thick):
        rows = true[start : start + thick].astype(np.uint64)
        keys, counts = np.unique(
            (rows << np.uint64(32)) | found[start : start + thick], return_counts=True
        )
        parts.append((keys, counts))
    keys, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    pairs = keys >> np.uint64(32), keys & np.uint64(2**32 - 1)
    return (
        adjusted_rand_index(*pairs, sizes=counts),
        *split_and_merge(*pairs, sizes=counts),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", type=int, nargs=3, default=[64, 256, 256])
    parser.add_argument("--folder", type=Path, required=True, help="for the volume and the result")
    parser.add_argument("--only-make", action="store_true", help="make the volume, no more")
    parser.add_argument("--block-shape", type=int, nargs=3)
    parser.add_argument("--memory", default="8GB")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, or 'local'")
    parser.add_argument("--bias", type=float, default=0.5)
    parser.add_argument("--gap", type=float, default=0.01)
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    affinities, truth, out = (folder / f"{x}.zarr" for x in ("affinities", "truth", "regions"))
    if not (folder / "made").exists():
        start = time.perf_counter()
        write_volume(folder, tuple(arguments.shape))
        (folder / "made").touch()
        print(f"made in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    if arguments.only_make:
        return
    peak = Peak()
    peak.start()
    found = segment_volume(
        affinities,
        out,
        block_shape=arguments.block_shape,
        memory=arguments.memory,
        workers=arguments.workers,
        client=arguments.scheduler,
        bias=arguments.bias,
        gap=arguments.gap,
        progress=True,
        force=True,
    )
    memory = peak.stop() / 1e9
    rand, split, merge = compared(truth, out)
    print_header(
        (
            "voxels", "blocks", "supervoxels", "edges", *(f"{name} s" for name in found.seconds),
            "total s", "GB", "status", "gap %", "regions", "adjusted Rand", "split / merge bits",
        )
    )  # fmt: skip
    print_row(
        " x ".join(map(str, zarr.open_array(str(truth), mode="r").shape)),
        found.blocks,
        found.supervoxels,
        found.edges,
        *(f"{seconds:.1f}" for seconds in found.seconds.values()),
        f"{sum(found.seconds.values()):.1f}",
        f"{memory:.2f}",
        str(found.status),
        f"{100 * found.gap:.4f}",
        found.regions,
        f"{rand:.4f}",
        f"{split:.3f} / {merge:.3f}",
    )


if __name__ == "__main__":
    main()
