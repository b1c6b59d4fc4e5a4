"""The package's own lossless format: a numpy ``.npz`` archive.

Its arrays: ``format`` (the text ``bdcc_jax.Graph 1``), ``n``, ``edges`` (m, 2), ``weights`` (m,);
``names`` (one JSON list as text) if the nodes have names; ``must_link`` and ``cannot_link`` (k, 2)
and ``groups`` (n,) if there are constraints; ``lifted`` (m,) if some edges are. ``numpy.load``
reads it as it is; nothing in it is ever unpickled.

Also read: the lifted problems of bioimage-cpp, ``n_nodes``, ``local_uvs``, ``local_costs``,
``lifted_uvs`` and ``lifted_costs``.
"""

import io
import json
import math
import reprlib
import sys
import zipfile
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..instance.graph import Graph
from .files import FormatError, inflation_limit
from .text import Opening

MAGIC = b"PK\x03\x04"
FORMAT = "bdcc_jax.Graph 1"
KEYS = ("format", "n", "edges", "weights")
CONSTRAINTS = ("must_link", "cannot_link", "groups")
BIOIMAGE = ("n_nodes", "local_uvs", "local_costs", "lifted_uvs", "lifted_costs")


def recognises(opening: Opening) -> bool:
    """Whether this is a zip archive."""
    return opening.data.startswith(MAGIC)


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    if BIOIMAGE[1].encode() in data[-(2**16) :]:  # the directory of an archive is at its end
        return _bioimage(read_arrays(data, name, BIOIMAGE), name)
    arrays = read_arrays(data, name, KEYS, ("names", "lifted", *CONSTRAINTS))
    try:
        if (found := one_text(arrays["format"], "format")) != FORMAT:
            raise ValueError(f"expected format {FORMAT!r}, not {reprlib.repr(found)}")
        names = _names(arrays["names"]) if "names" in arrays else None
        lifted = arrays.get("lifted")
        graph = Graph(arrays["n"].item(), arrays["edges"], arrays["weights"], names, lifted)
        return graph.constrained_by_id(**{k: v for k, v in arrays.items() if k in CONSTRAINTS})
    except (ValueError, TypeError) as error:
        raise FormatError(f"{name}: {error}") from error


def _bioimage(arrays: dict[str, np.ndarray], name: str) -> Graph:
    n, local, local_costs, lifted, lifted_costs = (arrays[key] for key in BIOIMAGE)
    try:
        for key, pairs in ((BIOIMAGE[1], local), (BIOIMAGE[3], lifted)):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(f"{key!r} must have shape (m, 2), not {pairs.shape}")
        edges = local[:, 0], local[:, 1], local_costs
        return Graph.from_edges(*edges, n.item(), lifted=(lifted[:, 0], lifted[:, 1], lifted_costs))
    except (ValueError, TypeError) as error:
        raise FormatError(f"{name}: {error}") from error


def encode(graph: Graph) -> bytes:
    """Write a graph without any loss; names must be something that JSON can hold."""
    arrays: dict[str, Any] = {"n": graph.n, "edges": graph.edges, "weights": graph.weights}
    if graph.lifted is not None:
        arrays["lifted"] = graph.lifted
    if graph.names is not None:
        arrays["names"] = json.dumps([_plain(i, name) for i, name in enumerate(graph.names)])
    for key in CONSTRAINTS:
        value = getattr(graph.constraints, key)
        if value is not None and len(value):
            arrays[key] = value
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=FORMAT, **arrays)
    return buffer.getvalue()


def read_arrays(
    data: bytes, name: str, needed: Sequence[str], welcome: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Read arrays of an archive: those that are needed, and others if they are there."""
    # zipfile and numpy let all kinds of exceptions out where an archive is damaged.
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            for key in needed:
                if key not in members:
                    found = reprlib.repr([*members])
                    raise FormatError(f"{name}: expected an array {key!r}; the archive has {found}")
            wanted = {key: members[key] for key in (*needed, *welcome) if key in members}
            _check_sizes(wanted, len(data), name)
            return {key: read_array(archive, member, name) for key, member in wanted.items()}
    except (FormatError, MemoryError):
        raise
    except Exception as error:
        raise FormatError(f"{name}: truncated or corrupt npz archive ({error})") from error


def _check_sizes(members: dict[str, zipfile.ZipInfo], size: int, name: str) -> None:
    for key, member in members.items():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(f"{name}: array {key!r} is compressed as numpy never does")
    declared, limit = sum(member.file_size for member in members.values()), inflation_limit(size)
    if declared > limit:
        raise FormatError(
            f"{name}: the arrays declare {declared} bytes, but {size} bytes of archive may hold "
            f"at most {limit}"
        )


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> np.ndarray:
    """Read one array, after its declared size was found to be what the archive really holds."""
    what = f"{name}: array {member.filename.removesuffix('.npy')!r}"
    stream = io.BytesIO(archive.read(member))
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read_header(stream)
    except MemoryError:
        raise
    except Exception as error:  # numpy parses the header as Python
        raise FormatError(f"{what} is not a numpy array ({error})") from error
    declared, held = math.prod(shape) * dtype.itemsize, member.file_size - stream.tell()
    if dtype.hasobject or declared != held:
        raise FormatError(f"{what} declares {shape} of {dtype}, but holds {held} bytes")
    stream.seek(0)
    array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def one_text(array: np.ndarray, key: str) -> str:
    """The text that an array of a file holds; ValueError if it is anything else."""
    if array.dtype.kind != "U" or array.ndim:
        raise ValueError(f"{key!r} must be one text, not {array.dtype} of shape {array.shape}")
    # Python breaks on what is no character, and a damaged file has that.
    points = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if points.max(initial=0) > sys.maxunicode:
        raise ValueError(f"{key!r} is not Unicode")
    return str(array)


def _names(array: np.ndarray) -> list[Hashable]:
    text = one_text(array, "names")
    try:
        names = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"'names' must be a JSON list ({error})") from error
    if not isinstance(names, list):
        raise ValueError(f"'names' must be a JSON list, not {type(names).__name__}")
    return names


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _plain(node: int, name: Hashable) -> str | float | None:
    value = name.item() if isinstance(name, np.generic) else name
    # An infinity or NaN has no JSON form, and a tuple would come back as a list.
    if isinstance(value, str | int) or value is None:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"node {node} is named {name!r}: .npz holds names that are text, finite numbers, "
        "booleans or None"
    )
