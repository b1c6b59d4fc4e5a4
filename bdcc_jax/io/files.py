"""Bytes in and out of files: gzip both ways, and writing that is all or nothing."""

import gzip
import io
import os
import secrets
import zlib
from contextlib import suppress
from pathlib import Path

from ..instance.graph import Graph

GZIP_MAGIC = b"\x1f\x8b"

ALWAYS_INFLATED = 2**26
"""Content of up to this many bytes is decompressed, however small the file is."""

MAX_RATIO = 100
"""Larger content may have this many times the bytes of its file; text of numbers has 3 to 20."""


class FormatError(ValueError):
    """A file's content is not what its format asks for; says where and what was expected."""


def read_bytes(path: Path) -> bytes:
    """Return a file's content, decompressed if it starts like a gzip file."""
    return inflated(path.read_bytes(), str(path))


def inflated(data: bytes, name: str) -> bytes:
    """Content, decompressed if it starts like a gzip file; ``name`` is for error messages."""
    if not data.startswith(GZIP_MAGIC):
        return data
    limit, content = inflation_limit(len(data)), io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while chunk := stream.read(2**20):
                content.write(chunk)
                if content.tell() > limit:
                    raise FormatError(
                        f"{name}: {len(data)} bytes decompress to more than {limit}, which looks "
                        "like a bomb; if it is none, decompress the file first"
                    )
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{name}: truncated or corrupt gzip file ({error})") from error
    return content.getvalue()


def inflation_limit(compressed: int) -> int:
    """How many bytes the content of a compressed file of this size may have."""
    return max(ALWAYS_INFLATED, MAX_RATIO * compressed)


def check_target(path: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written to, so that no work is lost for it later."""
    if path.exists():
        if not path.is_file():
            raise FileExistsError(f"{path} exists and is not a regular file")
        if not force:
            raise FileExistsError(f"{path} exists; choose another name, or force to overwrite it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path}: the folder {path.parent} is not writable")


def write_bytes(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file that is either complete or as it was, gzipped if its name ends in ``.gz``.

    What goes wrong, a full disk or a folder that is read-only after all, names the file.
    """
    check_target(path, force=force)
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a full disk may come out only here
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format: the last one, ``.gz`` aside, in lower case."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def refuse_names(graph: Graph, what: str) -> None:
    """Raise ValueError if the nodes have names, which this kind of file would lose."""
    if graph.names is not None:
        raise ValueError(
            f"{what} has no place for node names: write .npz or an edge list, or drop them "
            "(Graph(graph.n, graph.edges, graph.weights), or bdcc-jax convert --drop-names)"
        )
