import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.show.plots import OUTLINE_COLOUR

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULT = bdcc_jax.solve(
    random_graph(np.random.default_rng(1), 10, 1.0), options=Options(presolve=False)
)
DECIDED = bdcc_jax.solve(Graph(3, [(0, 1), (1, 2)], [1.0, -1.0]))
METHODS = ("plot_bounds", "plot_timings", "plot_cluster_sizes", "plot_matrix")


@pytest.fixture(autouse=True)
def nothing_is_shown(monkeypatch):
    def shown(*_, **__):
        raise AssertionError("plt.show was called")

    monkeypatch.setattr(plt, "show", shown)
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("result", [RESULT, DECIDED], ids=["rounds", "no rounds"])
def test_axes(method, result, ax):
    draw = getattr(result, method)
    assert draw(ax) is ax
    assert plt.get_fignums() == []
    new = draw()
    assert plt.get_fignums() == [new.figure.number]
    for axes in (ax, new):
        axes.figure.canvas.draw()


def test_bounds_begin_at_time_0(ax):
    RESULT.plot_bounds(ax)
    x, y = ax.get_lines()[0].get_data()
    assert list(x) == [0.0, RESULT.history[0].seconds]
    assert list(y) == [RESULT.graph.negative_sum] * 2
    low, high = ax.get_ylim()
    assert low < RESULT.lower_bound <= RESULT.objective < high


def test_matrix_is_sorted_by_cluster_the_largest_first(ax):
    """Nodes 0 and 3 are one cluster, 1, 2 and 4 the other."""
    edges, weights = [(0, 3), (1, 2), (2, 4), (0, 1)], [1.0, 2.0, 3.0, -4.0]
    bdcc_jax.solve(Graph(5, edges, weights)).plot_matrix(ax)
    shown = np.ma.filled(ax.get_images()[0].get_array(), 0.0)
    expected = np.zeros((5, 5))  # in the order 1, 2, 4, 0, 3
    for i, j, w in ((0, 1, 2.0), (1, 2, 3.0), (3, 4, 1.0), (0, 3, -4.0)):
        expected[i, j] = expected[j, i] = w
    np.testing.assert_array_equal(shown, expected)
    assert [list(line.get_xdata()[:2]) for line in ax.get_lines()] == [[-0.5, 2.5], [2.5, 4.5]]


def test_bounds(ax):
    RESULT.plot_bounds(ax)
    lines = {line.get_label(): line for line in ax.get_lines()}
    end = RESULT.timings["total"]
    for label, name, last in (
        ("objective", "upper_bound", RESULT.objective),
        ("lower bound", "lower_bound", RESULT.lower_bound),
    ):
        x, y = lines[label].get_data()
        assert list(y) == [*(getattr(r, name) for r in RESULT.history), last]
        assert list(x) == [*(r.seconds for r in RESULT.history), end]
        assert lines[label].get_drawstyle() == "steps-post"
    assert ax.get_title() == "optimal"


def test_gap_in_the_title(ax):
    stopped = replace(RESULT, status=bdcc_jax.Status.STOPPED, lower_bound=1.5 * RESULT.objective)
    assert stopped.plot_bounds(ax).get_title() == "stopped, gap 50 %"


def test_timings(ax):
    result = replace(RESULT, timings={"master": 3.0, "rounding": 0.5, "total": 4.0})
    result.plot_timings(ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert dict(zip(names, (bar.get_width() for bar in ax.patches), strict=True)) == {
        "master": 3.0,
        "rounding": 0.5,
        "other": 0.5,
    }
    assert "3 s, 75 %" in [text.get_text() for text in ax.texts]


def test_cluster_sizes(ax):
    sizes = [1, 1, 2, 3, 4, 5, 8, 9]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    graph = Graph(len(labels), [], [])
    replace(RESULT, graph=graph, labels=labels).plot_cluster_sizes(ax)
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert dict(zip(names, (bar.get_height() for bar in ax.patches), strict=True)) == {
        "1": 2,
        "2": 1,
        "3-4": 2,
        "5-8": 2,
        "9-16": 1,
    }


# Segmentations: superpixels 0 1 / 2 2 of two pixels each, of which 1 and 2 are one region.

SUPERPIXELS = np.array([[0, 0, 1, 1], [2, 2, 2, 2]])
SEGMENTED = replace(DECIDED, labels=np.array([0, 1, 1]))
GREY = np.array([[10, 30, 4, 4], [4, 4, 4, 10]], dtype=np.uint8)


def drawn(ax, image, **settings):
    SEGMENTED.plot_segmentation(image, SUPERPIXELS, ax, **settings)
    picture, outlines = (np.asarray(shown.get_array()) for shown in ax.get_images())
    return picture, outlines


def test_outlines(ax):
    picture, outlines = drawn(ax, GREY)
    assert (picture == GREY).all()
    outlined = (outlines == OUTLINE_COLOUR).all(axis=2)
    assert outlined.tolist() == [[True, True, False, False], [False] * 4]
    assert ax.get_title() == "2 regions"


@pytest.mark.parametrize("scale", [np.uint8(1), np.uint16(257), np.float64(1 / 255)])
def test_mean_colours(ax, scale):
    image = np.repeat(GREY[..., None], 3, axis=2) * scale
    picture, _ = drawn(ax, image, fill="mean")
    assert picture[0, 0] == pytest.approx(np.full(3, 20 / 255))
    assert picture[1, 3] == pytest.approx(np.full(3, 5 / 255))


def test_random_colours(ax):
    picture, _ = drawn(ax, GREY, fill="random")
    colours = {tuple(colour) for colour in picture.reshape(-1, 3)}
    assert len(colours) == 2


@pytest.mark.parametrize(
    ("image", "superpixels", "fill", "message"),
    [
        (GREY, SUPERPIXELS, "red", "fill must be 'picture', 'mean' or 'random', not 'red'"),
        (
            np.zeros((2, 4, 5)),
            SUPERPIXELS,
            "mean",
            r"not float64 of shape \(2, 4, 5\); of a volume",
        ),
        (np.zeros((2, 3)), SUPERPIXELS, "mean", r"the image's shape \(2, 3\), not \(2, 4\)"),
        (GREY, SUPERPIXELS / 1, "mean", "superpixels must hold integers, not float64"),
        (GREY, SUPERPIXELS + 1, "mean", r"nodes of the graph, 0 \.\. 2, not 3"),
        (GREY, SUPERPIXELS - 1, "mean", r"nodes of the graph, 0 \.\. 2, not -1"),
    ],
)
def test_bad_segmentations(image, superpixels, fill, message):
    with pytest.raises(ValueError, match=message):
        SEGMENTED.plot_segmentation(image, superpixels, fill=fill)
    assert plt.get_fignums() == []


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[plot\]"'):
        RESULT.plot_bounds()
