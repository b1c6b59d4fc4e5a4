"""Where the segmentation goes: nothing that is there is lost for it, unless somebody says so."""

import os
import secrets
import shutil
from pathlib import Path

from .blocks import Plan

METADATA = ("zarr.json", ".zarray")
"""One of these files is in the folder of every zarr array, of format 3 and 2."""


def check_output(target: Path, plan: Plan, *, force: bool) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    if "://" in str(target):
        raise ValueError(f"{target}: the segmentation is written to a folder of this machine")
    for path in (plan.affinities.path, plan.mask.path):
        if path is not None and Path(path).resolve() == target.resolve():
            raise ValueError(f"{target} is named twice; input and output must be different arrays")
    if target.exists():
        if not any((target / name).is_file() for name in METADATA):
            raise FileExistsError(f"{target} exists and is no zarr array")
        if any(each.is_dir() and (each / METADATA[0]).exists() for each in target.iterdir()):
            raise FileExistsError(f"{target} exists and is a zarr group: name an array in it")
        if not force:
            raise FileExistsError(f"{target} exists; choose another name, or force to overwrite it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{target}: the folder {target.parent} is not writable")


def publish(finished: Path, target: Path, *, force: bool) -> None:
    """Move the finished array to its place; one that is there makes room only now."""
    os.sync()  # what is named as a result must be on the disk
    if target.exists():
        if not force:
            raise FileExistsError(f"{target} has come to be meanwhile; the result is {finished}")
        aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
        target.rename(aside)
        finished.rename(target)
        shutil.rmtree(aside)
    else:
        finished.rename(target)
