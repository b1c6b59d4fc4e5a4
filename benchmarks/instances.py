"""The instances of the benchmarks, by name: ``family/name``.

Instances that need no files are ``pictures/coffee-3000`` (superpixels of a picture that comes with
scikit-image), ``planar/1000`` (a random Delaunay graph), ``planted/1000`` (a signed network with
hidden clusters) and ``correlations/300`` (a complete graph); these take any number. A data folder
adds its families. Any other folder of instance files has families too: its subfolders.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay, KDTree

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.base.arrays import IntArray
from bdcc_jax.image import example_picture, superpixel_graph
from bdcc_jax.io.formats import SUFFIXES

DATA = Path(os.environ["BDCC_DATA"]) if os.environ.get("BDCC_DATA") else None
"""The data folder, if there is one."""

MADE = {
    "pictures": ("coffee-3000", "coffee-12000"),
    "planar": ("1000", "3000", "10000"),
    "planted": ("1000", "5000", "20000", "100000"),
    "correlations": ("60", "100"),
}
"""Families that need no files, and the instances of them that are run unless others are named."""

SUFFIX = ".txt.gz"


@dataclass(frozen=True)
class Instance:
    """A graph that is made or read when it is needed."""

    family: str
    name: str
    load: Callable[[], Graph]

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Let the user say where the data folder is."""
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder with INDEX.tsv and family/name.txt.gz (default: $BDCC_DATA; without it only "
        "instances that need no files)",
    )


def data_arguments(data: Path | None) -> list[str]:
    """What a process that is started says about the data folder."""
    return [] if data is None else ["--data", str(data)]


def families(data: Path | None) -> dict[str, list[Instance]]:
    """Every family: those of the data folder in the order of its index, and those that are made."""
    found: dict[str, list[Instance]] = {}
    for row in index(data):
        name = row["name"].removesuffix(SUFFIX)
        found.setdefault(row["family"], []).append(instance(name, data))
    for family, names in MADE.items():
        found[family] = [instance(f"{family}/{name}", data) for name in names]
    return found


def index(data: Path | None) -> list[dict[str, str]]:
    """The rows of the data folder's index; none without a folder."""
    if data is None:
        return []
    with _existing(data / "INDEX.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def instance(full_name: str, data: Path | None = None) -> Instance:
    """The instance called ``family/name``."""
    family, _, name = full_name.partition("/")
    load: Callable[[], Graph]
    if family == "pictures":
        picture, _, segments = name.rpartition("-")
        load = partial(superpixels, picture, int(segments))
    elif family == "planar":
        load = partial(planar, int(name))
    elif family == "correlations":
        load = partial(correlations, int(name))
    elif family == "planted":
        load = partial(planted, int(name))
    elif data is None:
        raise SystemExit(
            f"{full_name} is in a data folder: say where with --data; without one there are "
            f"{', '.join(MADE)}"
        )
    else:
        load = partial(bdcc_jax.read, _existing(data / f"{full_name}{SUFFIX}"))
    return Instance(family, name, load)


def folder(data: Path) -> dict[str, list[Instance]]:
    """All instance files below a folder, by subfolder, the smaller files first."""
    found: dict[str, list[Instance]] = {}
    for path in sorted(_existing(data).rglob("*"), key=lambda p: (p.stat().st_size, p)):
        name = path.name.removesuffix(".gz")
        suffix = Path(name).suffix
        if path.is_file() and suffix in SUFFIXES:
            family = path.parent.relative_to(data).as_posix()
            family = data.resolve().name if family == "." else family
            each = Instance(family, name.removesuffix(suffix), partial(bdcc_jax.read, path))
            found.setdefault(family, []).append(each)
    if not found:
        known = ", ".join(SUFFIXES)
        raise SystemExit(f"no instances: {data} has no files that end in {known} (or these + .gz)")
    return dict(sorted(found.items()))


def spread(ranked: list[Any], count: int) -> list[Any]:
    """So many of a list, evenly over it, with the first and the last.

    Examples
    --------
    >>> spread(list(range(10)), 4)
    [0, 3, 6, 9]
    """
    if count >= len(ranked):
        return list(ranked)
    return [ranked[round(i)] for i in np.linspace(0, len(ranked) - 1, count)]


def fingerprint(graph: Graph) -> str:
    """The same for the same edges and weights, and for no others."""
    content = hashlib.sha256(str(graph.n).encode())
    content.update(graph.edges.astype("<i8").tobytes())
    content.update(graph.weights.astype("<f8").tobytes())
    return content.hexdigest()[:16]


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


def planted(n: int, degree: int = 8, wrong: float = 0.25, seed: int = 0) -> Graph:
    """A signed network with sqrt(n) hidden clusters: half of the edges inside one, a quarter wrong.

    An edge inside a cluster is +1 and one between clusters -1, unless it is wrong. Edges that come
    up twice add up.

    Examples
    --------
    >>> planted(1000)
    Graph(n=1000, m=3770, positive=1882, negative=1888)
    """
    rng = np.random.default_rng(seed)
    clusters = max(2, int(n**0.5))
    cluster = rng.integers(0, clusters, n)
    by_cluster = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[by_cluster], np.arange(clusters + 1))
    u = rng.integers(0, n, n * degree // 2)
    inside = rng.random(len(u)) < 0.5
    first, last = starts[cluster[u]], starts[cluster[u] + 1]
    mate = by_cluster[(first + rng.random(len(u)) * (last - first)).astype(np.int64)]
    v = np.where(inside, mate, rng.integers(0, n, len(u)))
    u, v = u[u != v], v[u != v]
    signs = np.where(cluster[u] == cluster[v], 1.0, -1.0)
    return Graph.from_edges(u, v, np.where(rng.random(len(u)) < wrong, -signs, signs), n)


def _sides(triangles: IntArray) -> IntArray:
    """The edges of a triangulation, each once."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    return np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)


def correlations(n: int, seed: int = 0) -> Graph:
    """A complete graph: correlations of n noisy series of 12 groups, minus 0.05.

    A series is that of its group, 40 normal numbers, plus noise of the same deviation. Between
    groups the correlations are small, and half of them positive: triangles in conflict everywhere.

    Examples
    --------
    >>> correlations(30)
    Graph(n=30, m=435, positive=204, negative=231)
    """
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(12, 40))
    series = groups[rng.integers(0, 12, n)] + rng.normal(size=(n, 40))
    weights = np.corrcoef(series) - 0.05
    np.fill_diagonal(weights, 0.0)
    return Graph.from_dense(weights)
