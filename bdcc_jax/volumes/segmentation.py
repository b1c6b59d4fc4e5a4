"""From affinities in zarr to a segmentation in zarr."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..base.environment import package_version
from ..base.records import Status, relative_gap
from ..image.affinities import LongRange
from ..image.evidence import Weighting
from ..image.supervoxels import SMOOTHING, SPACING, Basins, an_axis, spacings, units
from ..io.files import write_bytes
from ..large import solve
from ..large.result import Callback
from ..large.store import BlockStore
from ..large.store_files import MANIFEST
from ..large.store_writer import BlockWriter
from ..options import as_amount, as_count
from .arrays import Affinities, affinities_at, create, mask_at, require_zarr, written
from .block_graphs import EdgeRule
from .blocks import Plan, make_block, make_faces, paint_block
from .grid import Grid, Shape
from .outputs import check_output, publish
from .stages import Stages

VOXELS_A_BLOCK = 2**22
"""Of blocks, if nobody says: large enough that halos are a small part, and half a GB of work."""

UNFINISHED = (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED)
"""After these the same run can go on, so its folder is kept."""


@dataclass(frozen=True)
class VolumeResult:
    """What came out; the segmentation is in the array at ``path``.

    Attributes
    ----------
    path : Path
        The segmentation: uint64, 1, 2, ... for the regions and 0 where masked out.
    blocks, supervoxels, edges, regions : int
        How many there were.
    objective, lower_bound : float
        What the segmentation costs, as a clustering of the supervoxels; no other costs less than
        the latter.
    status : Status
        Why the solve stopped.
    seconds : dict from str to float
        How long each stage took, this time.
    """

    path: Path
    blocks: int
    supervoxels: int
    edges: int
    regions: int
    objective: float
    lower_bound: float
    status: Status
    seconds: dict[str, float]

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / |objective|``."""
        return relative_gap(self.objective, self.lower_bound)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        facts = asdict(self) | {"path": str(self.path), "status": str(self.status)}
        return facts | {"relative_gap": self.gap}

    def summary(self) -> str:
        """A few lines that say what came out."""
        lines = {
            "status": f"{self.status}: {self.status.explanation}",
            "regions": f"{self.regions:,} of {self.supervoxels:,} supervoxels",
            "edges": f"{self.edges:,}, in {self.blocks} block(s)",
            "objective": f"{self.objective:.10g}",
            "lower bound": f"{self.lower_bound:.10g}",
            "gap": f"{100 * self.gap:.3g} %",
            "seconds": ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items()),
            "written": str(self.path),
        }
        return "\n".join(f"{name:<13} {value}" for name, value in lines.items())


def segment_volume(
    affinities: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    offsets: Sequence[Sequence[int]] | None = None,
    mask: str | os.PathLike[str] | None = None,
    block_shape: Sequence[int] | None = None,
    smoothing: float | Sequence[float] = SMOOTHING,
    spacing: int | Sequence[int] = SPACING,
    bias: float = 0.5,
    long_range: LongRange = "signed",
    length_exponent: float = 0.5,
    memory: int | str | None = None,
    workers: int | None = None,
    client: Any = None,
    force: bool = False,
    keep: bool = False,
    progress: bool = False,
    callback: Callback | None = None,
    gap: float = 0.01,
    passes: int = 3,
    prove: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
) -> VolumeResult:
    """Segment a volume that need not fit into memory, from affinities in zarr.

    Block by block: supervoxels (:func:`bdcc_jax.image.supervoxels`, with a halo), the edges between
    them (those of :func:`bdcc_jax.image.graph_from_affinities`, to the bit), edges over the faces
    to neighbouring blocks; then :func:`bdcc_jax.large.solve`; at last the regions, block by block.
    Nothing of a run that ends early, by whatever, is lost: the same call goes on with it. Until
    the end all of it is in a folder beside the result, named ``out`` + ``.work``.

    Parameters
    ----------
    affinities : path
        A zarr array (format 2 or 3) of shape (channels, depth, height, width): uint8, which is
        scaled to 0 ... 1, or floats between 0 and 1; the probability of belonging together, as
        for :func:`bdcc_jax.image.graph_from_affinities`. An array in a group is named
        ``volume.zarr/its/name``.
    out : path
        Where the segmentation will be: a zarr array of the same format and chunks.
    offsets : sequence of (dz, dy, dx), optional
        One a channel; the array's attribute ``offsets`` if not given. Some must be of length 1.
    mask : path, optional
        A zarr array of shape (depth, height, width): where it is 0 there is no region.
    block_shape : (int, int, int), optional
        Of the blocks, in voxels: multiples of the chunks' shape, which are not shorter than any
        offset. If not given, whole chunks that are about 4 million voxels.
    smoothing, spacing
        Of supervoxels: see :func:`bdcc_jax.image.supervoxels`.
    bias, long_range, length_exponent
        Of weights: see :func:`bdcc_jax.image.graph_from_affinities`. Lifted edges cannot be solved
        in blocks: ``long_range`` is 'signed' or 'repulsive'.
    memory : int or str, optional
        How much may be used, such as '8GB': that is how many blocks are in work at a time.
    workers : int, optional
        Processes at most.
    client : dask.distributed.Client, or as for :func:`bdcc_jax.large.solve`, optional
        Blocks are tasks of this cluster, whose workers must see the same folders.
    force : bool
        Replace a zarr array that is there.
    keep : bool
        Leave the folder with supervoxels and graphs where it is.
    progress : bool
        Print lines about the blocks on standard error.
    callback : callable, optional
        Called with a :class:`bdcc_jax.large.BlockProgress` after every block; if it returns
        something true while the solve runs, this ends.
    gap, passes, prove, time_limit, seed
        Of the solve: see :func:`bdcc_jax.large.solve`. The limit is on its seconds alone.

    Returns
    -------
    VolumeResult
        Bounds, status and counts.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import zarr
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = np.full((3, 8, 32, 32), 0.9, dtype="float32")
    >>> data[2, :, :, 16] = 0.1  # between the columns 15 and 16
    >>> offsets = [[-1, 0, 0], [0, -1, 0], [0, 0, -1]]
    >>> place = f"{folder.name}/affinities.zarr"
    >>> array = zarr.create_array(place, data=data, chunks=(3, 8, 16, 32))
    >>> found = segment_volume(place, f"{folder.name}/regions.zarr", offsets=offsets, workers=1)
    >>> str(found.status), found.regions
    ('optimal', 2)
    >>> zarr.open_array(f"{folder.name}/regions.zarr")[4, 20, [0, 15, 16, 31]].tolist()
    [1, 1, 2, 2]
    >>> folder.cleanup()
    """
    require_zarr()
    source = affinities_at(_absolute(affinities), offsets)
    target = Path(out).absolute()
    plan = Plan(
        affinities=source,
        mask=mask_at(None if mask is None else _absolute(mask), source.shape),
        grid=Grid(source.shape, _block_shape(source, block_shape)),
        basins=Basins(
            units(source.offsets), an_axis(smoothing, 3, "smoothing"), spacings(spacing, 3)
        ),
        rule=EdgeRule(
            source.offsets,
            Weighting(bias, None, length_exponent),
            _repulsive(long_range),
        ),
        folder=target.with_name(f"{target.name}.work"),
    )
    check_output(target, plan, force=force)
    solving = _checked(time_limit=time_limit, gap=gap, passes=passes, prove=prove, seed=seed)
    stages = Stages(plan, memory, workers, client, progress, callback)
    _begin(plan, force=force)
    with stages.opened():
        stages.run("supervoxels", partial(make_block, plan))
        if not (plan.graph / MANIFEST).exists():
            stages.run("faces", partial(make_faces, plan))
    store = stages.timed("store", lambda: _finished(plan))
    result = stages.timed("solve", lambda: solve(plan.graph, **stages.solving, **solving))
    with stages.opened():
        stages.run("regions", partial(paint_block, plan, result.read_labels))
    found = VolumeResult(
        path=target,
        blocks=store.n_blocks,
        supervoxels=store.n,
        edges=store.m,
        regions=result.n_clusters,
        objective=result.objective,
        lower_bound=result.lower_bound,
        status=result.status,
        seconds=stages.seconds,
    )
    written(plan.segmentation).attrs["bdcc_jax"] = _provenance(plan, found)
    publish(plan.segmentation, target, force=force)
    if not keep and result.status not in UNFINISHED:
        shutil.rmtree(plan.folder)
    return found


def _absolute(path: str | os.PathLike[str]) -> str:
    """Workers may have another current folder; addresses stay as they are."""
    return str(path) if "://" in str(path) else str(Path(path).absolute())


def _checked(**solving: Any) -> dict[str, Any]:
    """Check now what the solve would check after hours of other work."""
    as_amount("gap", solving["gap"])
    as_count("passes", solving["passes"], at_least=1)
    as_count("seed", solving["seed"], at_least=0)
    if solving["time_limit"] is not None:
        as_amount("time_limit", solving["time_limit"])
    if solving["prove"] not in (True, False):
        raise ValueError(f"prove must be True or False, not {solving['prove']!r}")
    return solving


def _repulsive(long_range: str) -> bool:
    if long_range == "lifted":
        raise ValueError(
            "long_range='lifted' is not for blocks, whose solve knows no lifted edges: take "
            "'repulsive', or graph_from_affinities on a volume that fits into memory"
        )
    if long_range not in ("signed", "repulsive"):
        raise ValueError(f"long_range must be 'signed' or 'repulsive', not {long_range!r}")
    return long_range == "repulsive"


def _block_shape(source: Affinities, given: Any) -> Shape:
    """Check the shape of blocks, or choose one: whole chunks, about as long as wide."""
    chunks, longest = source.chunks, [max(map(abs, a)) for a in zip(*source.offsets, strict=True)]
    if given is None:
        shape = [*map(min, chunks, source.shape)]
        while True:
            sizes = [s for s in range(3) if shape[s] < max(1, longest[s])]
            small = shape[0] * shape[1] * shape[2] < VOXELS_A_BLOCK
            grows = [s for s in range(3) if shape[s] < source.shape[s]] if small else []
            if not (candidates := sizes or grows):
                return tuple(shape)
            shortest = min(candidates, key=lambda s: shape[s])
            if shape[shortest] >= source.shape[shortest]:  # an offset that leaves the volume
                return tuple(max(1, *pair) for pair in zip(shape, longest, strict=True))
            shape[shortest] = min(shape[shortest] * 2, source.shape[shortest])
    try:
        shape = [int(each) for each in given]
        whole = len(shape) == 3 and all(a == b and a > 0 for a, b in zip(shape, given, strict=True))
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"block_shape must be three whole numbers above 0, not {given!r}")
    for axis, (each, chunk, size, far) in enumerate(
        zip(shape, chunks, source.shape, longest, strict=True)
    ):
        if each < size and each % chunk:
            raise ValueError(
                f"block_shape must be multiples of the chunks' shape, {chunks}, so that no two "
                f"blocks write to one chunk: {each} along axis {axis} is not one of {chunk}"
            )
        if each < min(far, size):
            raise ValueError(
                f"block_shape must not be shorter than an offset: {each} along axis {axis}, where "
                f"an offset is {far} long"
            )
    return tuple(map(min, shape, source.shape))


def _begin(plan: Plan, *, force: bool) -> None:
    """Make the folder of a run, or take up the one that is there."""
    facts = asdict(plan)
    del facts["folder"], facts["affinities"]["path"], facts["mask"]["path"]
    facts |= {"version": package_version(), "masked": plan.mask.path is not None}
    content = json.dumps(facts, sort_keys=True, default=str).encode()
    note = plan.folder / "run.json"
    if note.exists() and note.read_bytes() != content:
        if not force:
            raise FileExistsError(
                f"{plan.folder} is of another run, with other parameters or another version: "
                "remove it, or force to overwrite it"
            )
        shutil.rmtree(plan.folder)
    if not note.exists():
        if plan.folder.exists() and (there := [each.name for each in plan.folder.glob("[!.]*")]):
            raise FileExistsError(f"{plan.folder} is no folder of a run: {min(there)} is in it")
        plan.folder.mkdir(exist_ok=True)
        write_bytes(note, content, force=True)
    for array, dtype in ((plan.supervoxels, "uint32"), (plan.segmentation, "uint64")):
        if not array.exists():  # the segmentation has moved away, where a solve did not finish
            shutil.rmtree(plan.notes(array), ignore_errors=True)
            create(array, plan.affinities, dtype)


def _finished(plan: Plan) -> BlockStore:
    if (plan.graph / MANIFEST).exists():
        store = BlockStore(plan.graph)
    else:
        store = BlockWriter(plan.graph).finish(plan.grid.blocks)
    if store.n == 0:
        raise ValueError(f"mask leaves no voxel: {plan.mask.path}")
    return store


def _provenance(plan: Plan, found: VolumeResult) -> dict[str, Any]:
    facts = found.to_dict()
    del facts["path"], facts["seconds"]
    return facts | {
        "version": package_version(),
        "affinities": plan.affinities.path,
        "mask": plan.mask.path,
        "offsets": plan.affinities.offsets,
        "block_shape": plan.grid.block_shape,
        "smoothing": plan.basins.smoothing,
        "spacing": plan.basins.spacing,
        "bias": plan.rule.weighting.bias,
        "length_exponent": plan.rule.weighting.length_exponent,
        "long_range": "repulsive" if plan.rule.repulsive else "signed",
    }
