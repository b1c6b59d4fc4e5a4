"""A solve on disk: what it takes to go on after a kill, a crash or a time limit.

The file holds what the solve has found, not where it was: the best clustering, the lower bound with
its proof, the history, the LP with its rows and multipliers, and the trees of branch and bound. A
solve that starts from that gets back to where it was in a round or two of the LP.
"""

import hashlib
import io
import json
import logging
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.environment import package_version
from ..base.records import Round, Status
from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from ..io import npz
from ..io.files import check_target, write_bytes
from ..lp.rows import Rows
from ..options import Options
from ..presolve import Removed
from ..proofs.branching_proof import Branching
from ..proofs.certificate import Claim, LowerBound, Proof
from .bounds import Bounds

logger = logging.getLogger(__name__)

FORMAT = "bdcc-jax checkpoint 2"

INTERVAL = 5.0
"""Seconds between two writes, at least, while the solve goes on."""

SHARE = 0.05
"""Of the time, at most: what it takes to write large files."""


class CheckpointError(ValueError):
    """A file that is no checkpoint of this solve; it is left as it is."""


@dataclass(frozen=True, eq=False)
class Written:
    """A proof that was written out earlier."""

    content: dict[str, Any]
    proven: bool

    def to_dict(self) -> dict[str, Any]:
        """As it was written."""
        return self.content


@dataclass(frozen=True, eq=False)
class SavedLP:
    """The LP of an instance: the given one, or what presolve has left of it."""

    graph: Graph
    labels: IntArray
    rows: Rows
    multipliers: FloatArray


class Checkpoint:
    """The file of one solve.

    Parameters
    ----------
    path : path
        Where it is, or will be.
    graph, options, seed
        What is solved, and how: a checkpoint of anything else is refused.
    """

    def __init__(
        self, path: str | PathLike[str], graph: Graph, options: Options, seed: int
    ) -> None:
        self._path = Path(path)
        self._key = {
            "version": package_version(),
            "instance": fingerprint(graph),
            # Threads change nothing: a solve may go on with another number of them.
            "options": json.dumps(asdict(replace(options, threads=None)), sort_keys=True),
            "seed": str(seed),
        }
        self._due = -inf
        self._lp: Callable[[], SavedLP] | None = None
        self._trees: dict[str, Branching] = {}
        self._saved: dict[str, Any] = {}
        check_target(self._path, force=True)
        if self._path.exists():
            self._saved = self._load()
        self._old_trees = _take_trees(self._saved)  # not reached again so far

    @property
    def history(self) -> list[Round]:
        """The rounds so far."""
        return [Round(**record) for record in self._json("history", [])]

    @property
    def removed(self) -> Removed | None:
        """What presolve took away."""
        removed = self._json("removed", None)
        return None if removed is None else Removed(**removed)

    def restore(self, bounds: Bounds) -> None:
        """Give the clustering back, and the lower bound if its proof is there too."""
        if self._saved:
            bounds.offer(self._saved["labels"])
            if proof := self._json("proof", None):
                lower, excess = (float(self._saved[name]) for name in ("lower_bound", "excess"))
                proven = bool(self._saved["proven"])
                bounds.raise_lower(LowerBound(lower, Written(proof, proven), excess))

    def restore_bound(self, bounds: Bounds) -> None:
        """Give the lower bound back, should the solve have ended before it was proven again."""
        lower = float(self._saved.get("lower_bound", -inf))
        if lower > bounds.lower:
            bounds.raise_lower(LowerBound(lower, Claim(lower, bounds.proof)))

    def lp(self, graph: Graph) -> SavedLP | None:
        """The LP that the solve had arrived at, if it is that of this instance."""
        saved = self._saved
        if not saved or str(saved["lp_instance"]) != fingerprint(graph):
            return None
        return SavedLP(graph, saved["lp_labels"], Rows.from_arrays(saved), saved["multipliers"])

    def watch(self, lp: Callable[[], SavedLP]) -> None:
        """From here on write the LP that this function returns; the first one is the largest."""
        self._lp = self._lp or lp

    def tree(self, graph: Graph) -> Branching:
        """The tree of this instance so far; from here on it is written."""
        key = fingerprint(graph)
        if key not in self._trees:
            saved = self._old_trees.pop(key, None)
            self._trees[key] = Branching.from_arrays(graph, saved) if saved else Branching(graph)
        return self._trees[key]

    def write_if_due(self, bounds: Bounds, history: Sequence[Round]) -> None:
        """Write unless that was just done; proofs take too long to write out every time."""
        if time.monotonic() >= self._due:
            self.write(bounds, history, None, None)

    def write(
        self,
        bounds: Bounds,
        history: Sequence[Round],
        removed: Removed | None,
        proof: Proof | None,
    ) -> None:
        """Replace the file; a disk that is full does not end the solve."""
        start = time.monotonic()
        arrays: dict[str, Any] = {
            "format": FORMAT,
            **self._key,
            "labels": bounds.labels,
            "lower_bound": bounds.lower,
            "excess": bounds.excess,
            "history": json.dumps([asdict(record) for record in history]),
            "removed": json.dumps(None if removed is None else asdict(removed)),
            "proof": json.dumps(None if proof is None else proof.to_dict()),
            "proven": proof is not None and proof.proven,
            **self._arrays_of_lp(),
            **({} if bounds.verdict is Status.OPTIMAL else self._arrays_of_trees()),
        }
        arrays = {name: np.asarray(value) for name, value in arrays.items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays, digest=np.asarray(_digest(arrays)))
        try:
            write_bytes(self._path, buffer.getvalue(), force=True)
        except OSError as error:
            logger.warning("the checkpoint could not be written: %s", error)
        now = time.monotonic()
        self._due = now + max(INTERVAL, (now - start) / SHARE)

    def _arrays_of_lp(self) -> dict[str, Any]:
        if self._lp is None:
            # Not yet there again: what was read is still the best to go on from.
            nothing = SavedLP(Graph(1, [], []), np.zeros(1, int), Rows.empty(), np.empty(0))
            arrays = _arrays(nothing)
            return {name: self._saved.get(name, array) for name, array in arrays.items()}
        return _arrays(self._lp())

    def _arrays_of_trees(self) -> dict[str, Any]:
        trees = {key: tree.to_arrays() for key, tree in self._trees.items() if tree.begun}
        largest = max((_size(tree) for tree in trees.values()), default=0)
        for key, tree in self._old_trees.items():
            if _size(tree) > largest:  # else it is of an instance that has since changed, or small
                trees[key] = tree
        return {f"tree/{k}/{name}": a for k, tree in trees.items() for name, a in tree.items()}

    def _json(self, name: str, otherwise: Any) -> Any:
        return json.loads(str(self._saved[name])) if self._saved else otherwise

    def _load(self) -> dict[str, Any]:
        path = self._path
        content = path.read_bytes()
        if not content.startswith(npz.MAGIC):
            raise CheckpointError(f"{path} exists and is not a checkpoint (nor any archive)")
        # zipfile and numpy let all kinds of exceptions out where an archive is damaged.
        try:
            saved = _read_arrays(content, str(path))
            form, digest = (npz.one_text(saved[key], key) for key in ("format", "digest"))
        except MemoryError:
            raise
        except KeyError as error:
            raise CheckpointError(f"{path} exists and is not a checkpoint (no {error})") from error
        except Exception as error:
            raise CheckpointError(f"{_damaged(path)} ({error})") from error
        if form != FORMAT:
            raise CheckpointError(f"{path} exists and is not a checkpoint ({FORMAT!r})")
        del saved["digest"]
        if digest != _digest(saved):
            raise CheckpointError(_damaged(path))
        for name, value in self._key.items():
            if str(saved[name]) != value:
                difference = f" ({str(saved[name])!r}, not {value!r})" if name != "instance" else ""
                raise CheckpointError(
                    f"{path} is the checkpoint of another {name}{difference}; give another file "
                    "name, or remove it to start anew"
                )
        return saved


def _read_arrays(content: bytes, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {
            member.filename.removesuffix(".npy"): npz.read_array(archive, member, name)
            for member in archive.infolist()
        }


def _damaged(path: Path) -> str:
    return f"{path}: the checkpoint is damaged; remove it to start anew"


def fingerprint(graph: Graph) -> str:
    """A digest of nodes, edges and weights.

    Examples
    --------
    >>> first, second = Graph.from_edges([0], [1], [1.0]), Graph.from_edges([0], [1], [2.0])
    >>> fingerprint(first) == fingerprint(second)
    False
    """
    arrays = {"n": np.asarray(graph.n), "edges": graph.edges, "weights": graph.weights}
    if graph.lifted is not None:
        arrays["lifted"] = graph.lifted
    if graph.constraints:
        arrays["constraints"] = np.frombuffer(graph.constraints.bytes(), np.uint8)
    if isinstance(graph, TerminalGraph):
        arrays["classes"] = np.asarray(graph.n_classes)
    return _digest(arrays)


def _arrays(lp: SavedLP) -> dict[str, Any]:
    return {
        "lp_instance": fingerprint(lp.graph),
        "lp_labels": lp.labels,
        "multipliers": lp.multipliers,
        **lp.rows.to_arrays(),
    }


def _take_trees(saved: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Remove the trees from what was read; their arrays by the instance."""
    trees: dict[str, dict[str, Any]] = {}
    for name in [name for name in saved if name.startswith("tree/")]:
        _, key, array = name.split("/")
        trees.setdefault(key, {})[array] = saved.pop(name)
    return trees


def _size(tree: dict[str, Any]) -> int:
    return len(tree["forks"])


def _digest(arrays: dict[str, Any]) -> str:
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape};".encode())
        total.update(array.tobytes())
    return total.hexdigest()
