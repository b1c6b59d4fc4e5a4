"""The instances of the benchmarks, by name: ``family/name``.

Besides the families of the data folder there are ``pictures/coffee-3000`` (superpixels of a picture
of scikit-image) and ``planar/1000`` (a random Delaunay graph); these two take any number.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay, KDTree

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.arrays import IntArray
from bdcc_jax.image import example_picture, superpixel_graph

DATA = Path(os.environ.get("BDCC_DATA", Path(__file__).parents[2] / "shared" / "data"))
PICTURES = ("coffee-3000", "coffee-12000")
PLANAR = ("1000", "3000", "10000")
SUFFIX = ".txt.gz"


@dataclass(frozen=True)
class Instance:
    """A graph that is made or read when it is needed."""

    family: str
    name: str
    load: Callable[[], Graph]


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Let the user say where the data folder is."""
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder with INDEX.tsv and family/name.txt.gz (default: $BDCC_DATA or %(default)s)",
    )


def families(data: Path) -> dict[str, list[Instance]]:
    """Every family: those of the data folder in the order of its index, pictures and planar."""
    found: dict[str, list[Instance]] = {}
    with _existing(data / "INDEX.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["name"].removesuffix(SUFFIX)
            found.setdefault(row["family"], []).append(instance(name, data))
    for family, names in (("pictures", PICTURES), ("planar", PLANAR)):
        found[family] = [instance(f"{family}/{name}", data) for name in names]
    return found


def instance(full_name: str, data: Path = DATA) -> Instance:
    """The instance called ``family/name``."""
    family, _, name = full_name.partition("/")
    load: Callable[[], Graph]
    if family == "pictures":
        picture, _, segments = name.rpartition("-")
        load = partial(superpixels, picture, int(segments))
    elif family == "planar":
        load = partial(planar, int(name))
    else:
        load = partial(bdcc_jax.read, _existing(data / f"{full_name}{SUFFIX}"))
    return Instance(family, name, load)


def _existing(path: Path) -> Path:
    if not path.exists():
        raise SystemExit(f"no instances: {path} does not exist; say where with --data")
    return path


def superpixels(picture: str, segments: int) -> Graph:
    """The superpixel graph of a picture of scikit-image."""
    return superpixel_graph(example_picture(picture), segments)[0]


def planar(n: int, seed: int = 0) -> Graph:
    """A Delaunay graph of random points in noisy regions: about 3 n edges, a third negative.

    The points belong to the nearest of n / 25 random centres. An edge inside a region has weight
    0.9 and one between regions -0.9, plus normal noise of deviation 1.

    Examples
    --------
    >>> planar(1000)
    Graph(n=1000, m=2979, positive=2017, negative=962)
    """
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    edges = _sides(Delaunay(points).simplices)
    centres = rng.random((max(2, n // 25), 2))
    region = KDTree(centres).query(points)[1]
    inside = region[edges[:, 0]] == region[edges[:, 1]]
    weights = np.where(inside, 0.9, -0.9) + rng.normal(size=len(edges))
    return Graph(n, edges, weights)


def _sides(triangles: IntArray) -> IntArray:
    """The edges of a triangulation, each once."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    return np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)
