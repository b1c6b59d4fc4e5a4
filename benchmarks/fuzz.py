"""Throw damaged files at every reader: a graph or a FormatError may come out, nothing else.

Checkpoints are read too: one is as it was written, or refused with a CheckpointError.

``python -m benchmarks.fuzz --inputs 100000`` mutates small valid files of every kind, and prints
how many inputs were read, refused and failed. Inputs that fail are kept in the folder
``fuzz-failures``; so is the one that is being read, in case that it takes the process down.
``python -m benchmarks.fuzz --atheris multicut -runs=100000`` lets atheris (``pip install atheris``)
search for new paths through one reader instead.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from bdcc_jax import FormatError, Graph, Options, read, solve
from bdcc_jax.io import FORMATS, pace
from bdcc_jax.search.checkpoint import Checkpoint, CheckpointError

WORDS = b"""0 1 2 -1 0.5 1e999 nan inf -0 1_0 0x10 999999999999 2147483647 18446744073709551616
MULTICUT p cep c # % , ; nodes FromNodeId a \xc3\xa9 \xff \xf4\x8f\xbf\xbf \xef\xbb\xbf"""
TOKENS = [
    *WORDS.split(),
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"\0",
    b"\n# nodes 7\n",
    b"1" * 5000,
    b"[" * 3000,
]
CHECKPOINT = "checkpoint"
TARGETS = (*FORMATS, CHECKPOINT)
BINARY = ("npz", "opengm", "andres", CHECKPOINT)

CYCLE = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [1.0, 1.0, 1.5, 2.0, -1.25])
PLAIN = Options(presolve=False, heuristics=False)
"""What the checkpoints are of: with rounds, rows and multipliers."""

FAILURES = Path("fuzz-failures")

MAX_PAIRS = 2**16
"""Of .gr files while fuzzing: what a few digits may ask for should not take most of the time."""


def seeds(name: str) -> list[bytes]:
    """Valid files of a kind, small so that mutations hit something."""
    if name == CHECKPOINT:
        return [_checkpoint()]
    if name == "pace":
        graphs = [
            Graph(4, [(0, 1), (2, 3), (0, 2), (0, 3), (1, 2), (1, 3)], [1, 1, -1, -1, -1, -1])
        ]
    else:
        graphs = [
            Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [1.5, -2.0, 0.25, -1e-3]),
            Graph(2, [(0, 1)], [3.0]),
        ]
    found = [FORMATS[name].encode(graph) for graph in graphs]
    if name in ("npz", "signed"):
        found.append(FORMATS[name].encode(Graph(3, [(0, 1), (1, 2)], [1.0, -2.0], ["a", "b", "ü"])))
    if name == "signed":
        found += [b"# FromNodeId ToNodeId Sign\n7 8 1\n8 7 -1\n", b"7,8,10,1289241911.5\n"]
    return [*found, gzip.compress(found[0], mtime=0)]


@cache
def _checkpoint() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        solve(CYCLE, options=PLAIN, checkpoint=path)
        return path.read_bytes()


def mutate(data: bytes, others: list[bytes], rng: random.Random, *, in_place: bool) -> bytes:
    """Damage a file in one to five ways; ``in_place`` keeps all other bytes where they are."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        at, length = rng.randrange(max(len(content), 1)), rng.choice((1, 1, 2, 4, 8, 40))
        match rng.randrange(3 if in_place else 9):
            case 0 if content:
                content[at] ^= 1 << rng.randrange(8)
            case 1 if content:
                content[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            case 2 if content:
                other = rng.choice((data, rng.choice(others)))
                start = rng.randrange(len(other))
                new = other[start : start + length]
                content[at : at + len(new)] = new
            case 3:
                del content[at : at + length]
            case 4 | 5:
                content[at:at] = rng.choice(TOKENS)
            case 6:
                content[at : at + length] = rng.choice(TOKENS)
            case 7:
                content[at:at] = content[at : at + length] * rng.choice((1, 2, 50))
            case 8 if rng.random() < 0.2:
                del content[at:]
    return bytes(content)


def mutate_member(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Damage one array of an archive, whose checksums then are right again."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        damaged = rng.choice(old.namelist())
        for member in old.namelist():
            content = old.read(member)
            if member == damaged:
                content = mutate(content, others, rng, in_place=rng.random() < 0.7)
            new.writestr(member, content)
    return buffer.getvalue()


def check(path: Path, data: bytes, name: str | None) -> str:
    """Read content, by the reader of this name or as it is recognised: "read" or "refused"."""
    path.write_bytes(data)
    if name == CHECKPOINT:
        return check_checkpoint(path, data)
    with warnings.catch_warnings():
        # Self-loops and constants are warned of; what numpy warns of is a fault.
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            graph = read(path, name)
        except FormatError as error:
            if not str(error).startswith(str(path)):
                raise AssertionError(f"the message does not name the file: {error}") from error
            return "refused"
    assert isinstance(graph, Graph)
    assert graph.n >= 1
    assert np.isfinite(graph.weights).all()
    return "read"


def check_checkpoint(path: Path, data: bytes) -> str:
    """Read a checkpoint: "read" or "refused", and the file is as it was."""
    try:
        saved = Checkpoint(path, CYCLE, PLAIN, 0)
        assert saved.lp(CYCLE) is not None
        assert len(saved.history) > 0
        outcome = "read"
    except CheckpointError as error:
        if not str(error).startswith(str(path)):
            raise AssertionError(f"the message does not name the file: {error}") from error
        outcome = "refused"
    assert path.read_bytes() == data
    return outcome


def inputs(name: str, count: int, seed: int) -> Iterator[tuple[bytes, str | None]]:
    """Yield damaged files; every second graph is to be recognised, the others are read as named."""
    rng = random.Random(f"{name} {seed}")
    own, others = seeds(name), [data for other in FORMATS for data in seeds(other)]
    for number in range(count):
        seed_file = rng.choice(own)
        if seed_file.startswith(b"PK") and rng.random() < 0.7:
            data = mutate_member(seed_file, others, rng)
        else:
            data = mutate(seed_file, others, rng, in_place=name in BINARY and rng.random() < 0.8)
        if rng.random() < 0.05:
            data = gzip.compress(data)
        yield data, (None if number % 2 and name in FORMATS else name)


def fuzz(name: str, count: int, seed: int, folder: Path, keep: Path | None = None) -> Counter[str]:
    """Try so many inputs on one reader and count what came out."""
    outcomes: Counter[str] = Counter()
    if keep is not None:
        keep.mkdir(exist_ok=True)
    path = (keep or folder) / f"{name}-{seed}-current"
    limit, pace.MOST_PAIRS_IN_A_FILE = pace.MOST_PAIRS_IN_A_FILE, MAX_PAIRS
    try:
        for number, (data, form) in enumerate(inputs(name, count, seed)):
            try:
                outcomes[check(path, data, form)] += 1
            except Exception as error:  # what is looked for
                outcomes["failed"] += 1
                print(f"{name} {number} ({form}): {type(error).__name__}: {error}", file=sys.stderr)
                path.rename(path.with_name(f"{name}-{seed}-{number}"))
    finally:
        pace.MOST_PAIRS_IN_A_FILE = limit
    path.unlink(missing_ok=True)
    return outcomes


def search(name: str, arguments: list[str]) -> None:
    """Hand one reader to atheris; it does not return."""
    import atheris

    for module in ("signed", "triples", "multicut", "pace", "npz", "text", "opengm", "andres"):
        for function in list(vars(sys.modules[f"bdcc_jax.io.{module}"]).values()):
            if getattr(function, "__module__", None) == f"bdcc_jax.io.{module}" and hasattr(
                function, "__code__"
            ):
                atheris.instrument_func(function)
    pace.MOST_PAIRS_IN_A_FILE = MAX_PAIRS
    folder = Path(tempfile.mkdtemp())
    for number, data in enumerate(seeds(name)):
        (folder / f"seed{number}").write_bytes(data)
    path = Path(tempfile.mkdtemp()) / "input"
    atheris.Setup([sys.argv[0], *arguments, str(folder)], lambda data: check(path, data, name))
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="in total (default: 100000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=TARGETS, action="append", help="only these")
    parser.add_argument("--atheris", choices=FORMATS, metavar="FORMAT")
    arguments, rest = parser.parse_known_args()
    if arguments.atheris:
        search(arguments.atheris, rest)
    names = arguments.format or list(TARGETS)
    start, failed = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            began = time.perf_counter()
            count = -(-arguments.inputs // len(names))
            outcomes = fuzz(name, count, arguments.seed, Path(folder), FAILURES)
            failed += outcomes["failed"]
            seconds = round(time.perf_counter() - began, 1)
            print(json.dumps({"format": name, "inputs": count, **outcomes, "seconds": seconds}))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{time.perf_counter() - start:.0f} s, peak memory {peak} MB, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
