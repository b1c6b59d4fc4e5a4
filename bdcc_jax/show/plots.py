"""Pictures of a Result, by matplotlib; each is drawn into given axes, or into a new figure."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.environment import install_hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Fill = Literal["picture", "mean", "random"]


UPPER_COLOUR, LOWER_COLOUR, BAR_COLOUR = "#c2410c", "#1d4ed8", "#475569"
OUTLINE_COLOUR = (1.0, 0.9, 0.0, 1.0)
SQUARE_COLOUR = "#f59e0b"

MOST_PIXELS, MOST_SQUARES = 300, 60
"""Of a matrix: more nodes than this share pixels, and only the largest clusters are outlined."""


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"plots need matplotlib: {install_hint('plot')}") from error


def plot_bounds(result: Any, ax: Axes | None = None) -> Axes:
    """Both bounds against the time; see :meth:`bdcc_jax.Result.plot_bounds`."""
    ax = _axes(ax)
    rounds, total = result.history, result.timings["total"]
    # At the start only this is known: no clustering costs less than all negative weights.
    known_at_once = result.graph.negative_sum
    # What is known holds until the next round is known; the end may have come after the last one.
    seconds = [r.seconds for r in rounds] + [max([total, *(r.seconds for r in rounds)])]
    lower = [r.lower_bound for r in rounds] + [result.lower_bound]
    # Clusterings that were found while an LP ran are there, if later rounds do not yet know them.
    upper = list(accumulate([*(r.upper_bound for r in rounds), result.objective], min))
    if not rounds:  # a line, not a point
        seconds, lower, upper = [0.0, total], 2 * lower, 2 * upper
    elif seconds[0] > 0.0:
        ax.plot([0.0, seconds[0]], [known_at_once] * 2, color=LOWER_COLOUR, lw=2.8)
    ax.fill_between(seconds, lower, upper, step="post", color="0.5", alpha=0.12, lw=0)
    # Where they meet, both can be seen.
    ax.step(seconds, lower, where="post", color=LOWER_COLOUR, lw=2.8, label="lower bound")
    # Every new best clustering gets a dot.
    best = [i for i in range(len(upper)) if i == 0 or upper[i] < upper[i - 1]]
    ax.step(
        seconds,
        upper,
        "-o",
        where="post",
        lw=1.2,
        markersize=4,
        markevery=best,
        color=UPPER_COLOUR,
        label="objective",
    )
    ax.set_xlim(left=0)
    ax.set_ylim(*_limits([known_at_once, *lower] if rounds else lower, upper))
    ax.set_xlabel("seconds")
    ax.set_ylabel("cost")
    closed = result.status == "optimal" or not isfinite(result.relative_gap)
    gap = "" if closed else f", gap {100 * result.relative_gap:.3g} %"
    ax.set_title(f"{result.status}{gap}" + ("" if rounds else ", without a round"))
    _tidy(ax)
    ax.legend(frameon=False)
    return ax


def _limits(lower: list[float], upper: list[float]) -> tuple[float, float]:
    """What is shown of the costs: all of it, unless the first bounds would flatten the rest."""
    highest, lowest = max(upper), min(lower)
    last = max(upper[-1] - lower[-1], upper[0] - upper[-1], 0.02 * abs(upper[-1]))
    if last > 0.0:
        lowest = max(lowest, upper[-1] - 12 * last)
    room = 0.05 * (highest - lowest) or 1.0
    return lowest - room, highest + room


def plot_matrix(result: Any, ax: Axes | None = None) -> Axes:
    """The weights between the nodes, sorted by cluster: see the method of ``Result``."""
    ax = _axes(ax)
    graph, labels = result.graph, result.labels
    sizes = np.bincount(labels)
    rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")  # the largest is 0
    place = np.empty(graph.n, np.int64)
    place[np.argsort(rank[labels], kind="stable")] = np.arange(graph.n)
    side = min(graph.n, MOST_PIXELS)
    pixel = place[graph.edges] * side // graph.n
    weights = np.zeros((side, side))
    for a, b in ((0, 1), (1, 0)):
        np.add.at(weights, (pixel[:, a], pixel[:, b]), graph.weights)
    heavy = np.quantile(np.abs(weights[weights != 0.0]), 0.95) if weights.any() else 1.0
    shown = np.ma.masked_equal(weights, 0.0)
    ax.imshow(shown, cmap="RdBu", vmin=-heavy, vmax=heavy, interpolation="nearest")
    ends = np.cumsum(-np.sort(-sizes)) * side / graph.n - 0.5
    corners = np.concatenate([[-0.5], ends])[: MOST_SQUARES + 1].tolist()
    for a, b in pairwise(corners):
        ax.plot([a, b, b, a, a], [a, a, b, b, a], color=SQUARE_COLOUR, lw=1.0)
    ax.set_xlim(-0.5, side - 0.5)
    ax.set_ylim(side - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    shared = "" if side == graph.n else f", {graph.n / side:.3g} nodes a pixel"
    ax.set_title(f"blue attracts, red repels{shared}")
    return ax


def plot_timings(result: Any, ax: Axes | None = None) -> Axes:
    """Where the time went; see :meth:`bdcc_jax.Result.plot_timings`."""
    ax = _axes(ax)
    total = result.timings["total"]
    parts = {part: spent for part, spent in result.timings.items() if part != "total"}
    parts["other"] = max(0.0, total - sum(parts.values()))
    parts = dict(sorted(parts.items(), key=lambda item: item[1]))
    bars = ax.barh(list(parts), list(parts.values()), color=BAR_COLOUR, height=0.65)
    shares = [f"{s:.3g} s, {100 * s / total if total else 0:.0f} %" for s in parts.values()]
    ax.bar_label(bars, shares, padding=4, fontsize="small")
    ax.set_xlim(0, 1.3 * max(parts.values()) or 1.0)  # room for the labels
    ax.set_ylim(-0.6, max(len(parts), 4) - 0.4)  # one bar alone should not fill it all
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel("seconds")
    ax.set_title(f"{total:.3g} s in total")
    _tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_cluster_sizes(result: Any, ax: Axes | None = None) -> Axes:
    """How many clusters have 1, 2, 3-4, 5-8, ... nodes; see the method of ``Result``."""
    ax = _axes(ax)
    classes = np.ceil(np.log2(np.bincount(result.labels))).astype(int)
    counts = np.bincount(classes)
    ends = 2 ** np.arange(len(counts))
    names = [f"{end // 2 + 1}-{end}" if end > 2 else f"{end}" for end in ends.tolist()]
    bars = ax.bar(names, counts, color=BAR_COLOUR, width=0.8)
    ax.bar_label(bars, [f"{count}" for count in counts], padding=2, fontsize="small")
    ax.locator_params(axis="y", integer=True)
    ax.margins(y=0.15)
    ax.set_xlabel("nodes in the cluster")
    ax.set_ylabel("clusters")
    ax.set_title(f"{result.n_clusters} clusters of {result.graph.n} nodes")
    _tidy(ax)
    if len(names) > 8:
        ax.tick_params(axis="x", rotation=45)
    return ax


def plot_segmentation(
    result: Any,
    image: ArrayLike,
    superpixels: ArrayLike,
    ax: Axes | None = None,
    *,
    fill: Fill = "picture",
) -> Axes:
    """The clusters as regions of a picture; see :meth:`bdcc_jax.Result.plot_segmentation`."""
    if fill not in get_args(Fill):
        raise ValueError(f"fill must be 'picture', 'mean' or 'random', not {fill!r}")
    picture = _picture(np.asarray(image))
    regions = _regions(result.labels, np.asarray(superpixels), picture.shape[:2])
    ax = _axes(ax)
    shown = picture
    if fill == "mean":
        shown = _mean(picture, regions)
    elif fill == "random":
        shown = np.random.default_rng(0).uniform(0.15, 0.95, (result.n_clusters, 3))[regions]
    # The values that are black and white in the picture are so among its means, too.
    limits = (picture.min(), picture.max()) if shown.ndim == 2 else (None, None)
    ax.imshow(shown, cmap="gray", vmin=limits[0], vmax=limits[1])
    outlines = np.zeros((*regions.shape, 4))
    outlines[_boundary(regions)] = OUTLINE_COLOUR
    ax.imshow(outlines)
    ax.set_axis_off()
    ax.set_title(f"{len(np.unique(regions))} regions")
    return ax


def _axes(ax: Axes | None) -> Axes:
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    new: Axes = plt.subplots(layout="constrained")[1]
    return new


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _picture(image: Any) -> Any:
    """Grey values as they are, colours between 0 and 1."""
    colours = image.ndim == 3 and image.shape[2] in (3, 4)
    if (image.ndim != 2 and not colours) or image.size == 0 or image.dtype.kind not in "biuf":
        raise ValueError(
            "image must hold numbers, of shape (height, width) or (height, width, 3), not "
            f"{image.dtype} of shape {image.shape}; of a volume, plot a slice"
        )
    return image / np.iinfo(image.dtype).max if colours and image.dtype.kind == "u" else image


def _regions(labels: IntArray, pixels: Any, shape: tuple[int, ...]) -> IntArray:
    """The cluster of every pixel."""
    if pixels.shape != shape:
        raise ValueError(f"superpixels must have the image's shape {shape}, not {pixels.shape}")
    if pixels.dtype.kind not in "iu":
        raise ValueError(f"superpixels must hold integers, not {pixels.dtype}")
    for value in (pixels.min(), pixels.max()):
        if not 0 <= value < len(labels):
            raise ValueError(
                f"superpixels must hold nodes of the graph, 0 .. {len(labels) - 1}, not {value}"
            )
    regions: IntArray = labels[pixels]
    return regions


def _mean(picture: Any, regions: IntArray) -> FloatArray:
    """Every region in its mean colour."""
    channels = picture.reshape(*regions.shape, -1).astype(np.float64)
    size = np.bincount(regions.ravel())
    means = [
        (np.bincount(regions.ravel(), channel.ravel()) / np.maximum(size, 1))[regions]
        for channel in np.moveaxis(channels, 2, 0)
    ]
    return np.stack(means, axis=2).reshape(picture.shape)


def _boundary(regions: IntArray) -> BoolArray:
    """The pixels whose neighbour to the right or below is in another region."""
    apart = np.zeros(regions.shape, dtype=bool)
    apart[:, :-1] |= regions[:, :-1] != regions[:, 1:]
    apart[:-1] |= regions[:-1] != regions[1:]
    return apart
