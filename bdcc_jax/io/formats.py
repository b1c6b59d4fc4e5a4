"""Which format a file is in: by what it starts with, then by its name, then by its first edge."""

import reprlib
from pathlib import Path
from types import ModuleType

from . import andres, gml, graphml, multicut, npz, opengm, pace, signed, triples
from .files import FormatError, suffix_of
from .text import Opening

FORMATS: dict[str, ModuleType] = {
    "npz": npz,
    "multicut": multicut,
    "triples": triples,
    "signed": signed,
    "pace": pace,
    "opengm": opengm,
    "andres": andres,
    "graphml": graphml,
    "gml": gml,
}
"""Each module has ``recognises`` (whether an Opening is of this format, if it is of none that is
asked before), ``decode`` (bytes to a graph) and ``encode`` (ValueError if it cannot hold one)."""

SUFFIXES = {
    ".npz": "npz",
    ".txt": "multicut",
    ".multicut": "multicut",
    ".triples": "triples",
    ".edges": "signed",
    ".edgelist": "signed",
    ".csv": "signed",
    ".tsv": "signed",
    ".gr": "pace",
    ".h5": "andres",
    ".hdf5": "andres",
    ".graphml": "graphml",
    ".gml": "gml",
}
"""The format that a file with this suffix is written in."""

_UNMISTAKABLE = ("npz", "opengm", "andres", "multicut", "pace", "graphml", "gml")
_TELLING = {suffix: name for suffix, name in SUFFIXES.items() if suffix != ".txt"}


def recognise(data: bytes, path: Path) -> str:
    """Name the format of a file's content.

    A file that starts like an archive, HDF5, MULTICUT text, ``.gr``, GraphML or GML is that,
    whatever its name.
    Other text is what the suffix says. Where that says nothing, text with SNAP's comment is a
    signed edge list; else the first line that is no comment decides: two integers and a weight are
    plain triples, two names and a weight a signed edge list.
    """
    opening = Opening(data)
    for name in _UNMISTAKABLE:
        if FORMATS[name].recognises(opening):
            return name
    if suffix_of(path) in _TELLING:
        return _TELLING[suffix_of(path)]
    if b"\0" in data:
        raise FormatError(
            f"{path}: binary content of no known format; expected {EXPECTED}; "
            "Parquet and Arrow files are for bdcc-jax cluster"
        )
    if signed.is_snap(data):
        return "signed"
    for name in ("triples", "signed"):
        if FORMATS[name].recognises(opening):
            return name
    found = reprlib.repr(" ".join(opening.words))
    raise FormatError(f"{path}: it starts with {found}; expected {EXPECTED}")


def format_of_name(path: Path) -> str:
    """Name the format that a file of this name is written in."""
    try:
        return SUFFIXES[suffix_of(path)]
    except KeyError:
        accepted = ", ".join(SUFFIXES)
        raise ValueError(
            f"{path}: the name must end in one of {accepted} (and .gz if you like), "
            "or the format must be given"
        ) from None


def check_format(name: str) -> str:
    """Refuse a name that no format has."""
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {name!r}")
    return name


EXPECTED = (
    "the line 'MULTICUT', edges 'i j weight' or 'u v sign', 'p cep n m' (PACE), GraphML, GML, HDF5 "
    "or .npz"
)
