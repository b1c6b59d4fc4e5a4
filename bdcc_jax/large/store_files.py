"""The files of a block store: their names, what is in them, and digests of that.

- ``block-000007.npz``: ``n`` nodes and the edges inside, ``u < v`` in local ids, weights ``w``;
- ``face-000003-000007.npz``: edges from nodes ``u`` of the lower block to ``v`` of the higher one;
- ``nodes.npy``, if nodes were renumbered: which node each was, ``0 .. n - 1``, block after block;
- ``store.json``, written last: how many nodes and edges each file has, and its digest.

Every file comes to be by renaming one that is complete, and holds a digest of its content. So
any number of processes may write blocks, and a process that is killed leaves a store that lacks
some, never one with half a block.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..io.files import FormatError, write_bytes

FORMAT = "bdcc_jax.BlockStore 2"
MANIFEST, NODES = "store.json", "nodes.npy"


def block_name(block: int) -> str:
    """The file of a block."""
    return f"block-{block:06d}.npz"


def face_name(a: int, b: int) -> str:
    """The file of the edges between two blocks, ``a < b``."""
    return f"face-{a:06d}-{b:06d}.npz"


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into a file that is complete or not there."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_bytes(path, buffer.getvalue(), force=True)


def read_npz(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read some arrays of a file, or all."""
    # zipfile and numpy let all kinds of exceptions out where an archive is damaged.
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in names or archive.files}
    except (MemoryError, FileNotFoundError):
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path}: truncated or corrupt ({error})") from error


def digest_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """Of names, types, shapes and content."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape};".encode())
        total.update(array.data if array.ndim else array.tobytes())
    return total.hexdigest()


def digest_of_text(text: str) -> str:
    """Of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
