"""Graphs from label images, region adjacency graphs and affinity maps."""

import numpy as np
import pytest
import skimage
import skimage.graph

import bdcc_jax
from bdcc_jax.image import (
    graph_from_affinities,
    graph_from_labels,
    graph_from_rag,
    label_image,
    segment,
    superpixel_graph,
)
from bdcc_jax.metrics import variation_of_information


def blocks():
    """Nine blocks of a volume, named at random, and probabilities of boundaries."""
    names = np.array([[40, 7, 12], [3, 99, 5], [61, 8, 70]])
    labels = np.repeat(names.repeat(3, axis=0).repeat(4, axis=1)[None], 2, axis=0)
    return labels, np.random.default_rng(0).random(labels.shape)


def brute_force_evidence(labels, boundaries):
    seen = {}
    for x in np.ndindex(labels.shape):
        for axis in range(labels.ndim):
            y = tuple(c + (i == axis) for i, c in enumerate(x))
            if y[axis] < labels.shape[axis] and labels[x] != labels[y]:
                pair = tuple(sorted((int(labels[x]), int(labels[y]))))
                seen.setdefault(pair, []).append(max(boundaries[x], boundaries[y]))
    return seen


@pytest.mark.parametrize("flat", [True, False])
def test_graph_from_labels(flat):
    labels, boundaries = blocks()
    if flat:
        labels, boundaries = labels[0], boundaries[0]
    graph, nodes = graph_from_labels(labels, boundaries, bias=0.6, length_exponent=1.0)
    names = np.unique(labels)
    np.testing.assert_array_equal(names[nodes], labels)
    expected = {
        pair: bdcc_jax.weights_from_probabilities(np.mean(values), 0.6) * len(values)
        for pair, values in brute_force_evidence(labels, boundaries).items()
    }
    found = {tuple(names[e].tolist()): w for e, w in zip(graph.edges, graph.weights, strict=True)}
    assert found == pytest.approx(expected)


def test_ignored_label_and_spread_out_labels():
    labels, boundaries = blocks()
    labels = np.where(labels == 99, 2**40, labels)
    graph, nodes = graph_from_labels(labels, boundaries, ignore_label=7)
    assert graph.n == 8
    assert (nodes[labels == 7] == -1).all()
    assert nodes[labels == 2**40].min() == 7
    painted = label_image(np.arange(8), nodes)
    assert (painted[labels == 7] == 0).all()
    assert sorted(np.unique(painted)) == list(range(9))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[False, True, True]]),
        np.array([[-128, 127, 127]], dtype=np.int8),
        np.array([[2**64 - 2, 2**64 - 1, 2**64 - 1]], dtype=np.uint64),
        np.array([[-(2**63), 2**63 - 1, 2**63 - 1]]),
    ],
    ids=["bool", "int8", "uint64", "int64"],
)
def test_labels_of_every_integer_type(labels):
    graph, nodes = graph_from_labels(labels, np.full((1, 3), 0.2))
    assert nodes.tolist() == [[0, 1, 1]]
    assert graph.positive.all()


def test_evidence_of_any_unit():
    labels, boundaries = blocks()
    graph, _ = graph_from_labels(labels, 1000 * boundaries - 300, attractive=0.5)
    same, _ = graph_from_labels(labels, boundaries, attractive=0.5)
    np.testing.assert_allclose(graph.weights, same.weights)
    assert graph.positive.sum() == graph.m / 2
    as_bytes, _ = graph_from_labels(labels, np.rint(255 * boundaries).astype(np.uint8))
    np.testing.assert_allclose(
        as_bytes.weights, graph_from_labels(labels, boundaries)[0].weights, atol=0.1
    )
    nothing, _ = graph_from_labels(labels, np.zeros(labels.shape), attractive=0.5)
    assert nothing.positive.all()


# region adjacency graphs


def test_rag_of_boundaries_and_of_colours():
    labels = blocks()[0][0]
    strength = np.where(np.arange(12) < 8, 0.1, 0.9)[None].repeat(9, axis=0)
    graph, nodes = graph_from_rag(skimage.graph.rag_boundary(labels, strength), labels)
    regions = label_image(bdcc_jax.solve(graph).labels, nodes)
    assert len(np.unique(regions[:, :7])) == 1
    colours = np.zeros((9, 12, 3))
    colours[:, 8:] = 1
    rag = skimage.graph.rag_mean_color(colours, labels)
    with pytest.raises(ValueError, match=r"weights of rag must lie .* give attractive instead"):
        graph_from_rag(rag, labels)
    graph, nodes = graph_from_rag(rag, labels, attractive=0.7)
    regions = label_image(bdcc_jax.solve(graph).labels, nodes)
    assert (regions == np.where(np.arange(12) < 8, regions[0, 0], regions[0, -1])).all()
    assert regions[0, 0] != regions[0, -1]


def test_rag_with_merged_nodes():
    labels = np.array([[1, 2, 5, 9]])
    rag = skimage.graph.rag_boundary(labels, np.array([[0.1, 0.1, 0.2, 0.9]]))
    rag.merge_nodes(1, 2)
    graph, nodes = graph_from_rag(rag, labels)
    assert graph.n == 3
    assert nodes[0, 0] == nodes[0, 1]
    assert len(set(nodes[0].tolist())) == 3
    rag.remove_node(9)
    assert graph_from_rag(rag, labels)[1][0, 3] == -1


# affinity maps


def brute_force_pairs(affinities, offsets, names):
    """Affinities by pair of names; None is no name."""
    seen = {}
    for c, offset in enumerate(offsets):
        for x in np.ndindex(affinities.shape[1:]):
            y = tuple(a + o for a, o in zip(x, offset, strict=True))
            if all(0 <= a < size for a, size in zip(y, affinities.shape[1:], strict=True)):
                pair = names[x], names[y]
                if pair[0] != pair[1] and None not in pair:
                    seen.setdefault(tuple(sorted(pair)), []).append(affinities[c][x])
    return seen


@pytest.mark.parametrize("superpixels", [False, True])
@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ((5, 6), [(-1, 0), (0, 1), (2, -3), (-4, 0), (0, 9)]),
        ((2, 4, 3), [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (1, -2, 2)]),
    ],
)
def test_graph_from_affinities(shape, offsets, superpixels):
    random = np.random.default_rng(0)
    affinities = random.random((len(offsets), *shape))
    mask = random.random(shape) < 0.8
    labels = random.integers(10, 14, shape) if superpixels else np.arange(mask.size).reshape(shape)
    given = {"labels": labels} if superpixels else {}
    graph, nodes = graph_from_affinities(affinities, offsets, mask=mask, bias=0.4, **given)
    kept = np.unique(labels[mask])
    np.testing.assert_array_equal(nodes == -1, ~mask)
    np.testing.assert_array_equal(kept[nodes[mask]], labels[mask])
    named = np.where(mask, labels, None)
    expected = {
        pair: bdcc_jax.weights_from_probabilities(1 - np.mean(values), 0.4) * len(values) ** 0.5
        for pair, values in brute_force_pairs(affinities, offsets, named).items()
    }
    found = {tuple(kept[e].tolist()): w for e, w in zip(graph.edges, graph.weights, strict=True)}
    assert found == pytest.approx(expected)


def test_long_range_repulsion_keeps_regions_in_one_piece():
    # Two ends that belong together, and a middle that belongs to neither.
    offsets = [(0, -1), (0, -2)]
    affinities = np.array([[[0, 0.1, 0.1]], [[0, 0, 0.9]]])
    graph, nodes = graph_from_affinities(affinities, offsets)
    assert label_image(bdcc_jax.solve(graph).labels, nodes).tolist() == [[1, 2, 1]]
    graph, nodes = graph_from_affinities(affinities, offsets, long_range="repulsive")
    assert label_image(bdcc_jax.solve(graph).labels, nodes).tolist() == [[1, 2, 3]]
    apart, _ = graph_from_affinities(1 - affinities, offsets, long_range="repulsive")
    assert apart.weights[apart.edges[:, 1] - apart.edges[:, 0] == 2] < 0
    only_long, _ = graph_from_affinities(affinities[1:], offsets[1:], long_range="repulsive")
    assert (only_long.n, only_long.m) == (3, 0)


def test_affinities_find_objects():
    truth = np.zeros((12, 14), int)
    truth[2:9, 3:7], truth[4:11, 8:13] = 1, 2
    offsets = [(-1, 0), (0, -1), (-3, 0), (0, -3)]
    same = [truth == np.roll(truth, (-dy, -dx), (0, 1)) for dy, dx in offsets]
    noise = np.random.default_rng(0).normal(0, 0.15, (4, 12, 14))
    affinities = np.clip(np.where(same, 0.85, 0.15) + noise, 0, 1)
    graph, nodes = graph_from_affinities((255 * affinities).astype(np.uint8), offsets)
    found = label_image(bdcc_jax.solve(graph).labels, nodes)
    assert variation_of_information(truth, found) == 0


LABELS, FLAT = np.arange(4).reshape(2, 2), np.full((2, 2), 0.5)
AFFINITIES, OFFSETS = np.full((2, 2, 2), 0.5), [(0, 1), (1, 0)]
RAG = skimage.graph.rag_boundary(LABELS, FLAT)
NO_WEIGHTS = skimage.graph.RAG(LABELS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: superpixel_graph(FLAT, 1, method="felz"), "method must be 'slic' or 'watershed'"),
        (
            lambda: superpixel_graph(FLAT, 1, method="watershed", compactness=-1),
            "at least 0, not -1",
        ),
        (lambda: segment(np.full((2, 2), np.nan)), "image must be finite"),
        (lambda: segment(np.full((2, 2), 255.0)), r"between 0 and 1: the entry at .* is 255\.0"),
        (lambda: graph_from_labels(FLAT, FLAT), "labels must hold integers, not float64"),
        (lambda: graph_from_labels([1, 2], [1.0, 1.0]), r"an image or a volume .* not \(2,\)"),
        (
            lambda: graph_from_labels(LABELS * 0, FLAT, ignore_label=0),
            "every pixel has the label 0",
        ),
        (lambda: graph_from_labels(LABELS, FLAT[:1]), r"shape of labels, \(2, 2\), not \(1, 2\)"),
        (lambda: graph_from_labels(LABELS, 4 * FLAT), r"0 and 1 \(or give .*: .* \(0, 0\) is 2\.0"),
        (lambda: graph_from_labels(LABELS, FLAT * np.nan), r"finite: the entry at \(0, 0\) is nan"),
        (lambda: graph_from_labels(LABELS, LABELS), "unsigned integers or floats, not int64"),
        (lambda: graph_from_labels(LABELS, FLAT, bias=1.0), r"bias must .* not 1\.0"),
        (lambda: graph_from_labels(LABELS, FLAT, attractive=2), "attractive must .* not 2"),
        (lambda: graph_from_labels(LABELS, FLAT, bias=0.5, attractive=0.5), "not both"),
        (lambda: graph_from_labels(LABELS, FLAT, length_exponent=-1), "length_exponent must"),
        (lambda: graph_from_rag(NO_WEIGHTS, LABELS), "of rag has no attribute 'weight'"),
        (lambda: graph_from_rag(skimage.graph.RAG(), LABELS), "rag has no nodes"),
        (lambda: graph_from_affinities(FLAT, OFFSETS), r"affinities must have .* not \(2, 2\)"),
        (lambda: graph_from_affinities(4 * AFFINITIES, OFFSETS), "between 0 and 1: the entry at"),
        (
            lambda: graph_from_affinities(AFFINITIES, OFFSETS[:1]),
            r"one entry a channel \(2\), not 1",
        ),
        (lambda: graph_from_affinities(AFFINITIES, [(0, 1), (1,)]), r"offsets\[1\] must be 2 int"),
        (lambda: graph_from_affinities(AFFINITIES, [(0, 0), (1, 0)]), r"offsets\[0\] is zero"),
        (
            lambda: graph_from_affinities(AFFINITIES, OFFSETS, mask=[[True]]),
            "mask must have a chan",
        ),
        (
            lambda: graph_from_affinities(AFFINITIES, OFFSETS, mask=LABELS),
            "mask must hold booleans",
        ),
        (lambda: graph_from_affinities(AFFINITIES, OFFSETS, mask=LABELS < 0), "leaves no pixel"),
        (
            lambda: graph_from_affinities(AFFINITIES, OFFSETS, long_range="far"),
            "'signed', 'repulsive' or 'lif",
        ),
        (lambda: label_image([0, 1], [[2]]), "nodes must lie between -1 and 1: one is 2"),
        (lambda: label_image([0, 1], [[0.5]]), "nodes must hold integers"),
    ],
)
def test_more_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_rag():
    with pytest.raises(TypeError, match=r"rag must be a skimage.graph.RAG, not 'list'"):
        graph_from_rag([], LABELS)


def test_undecided_but_for_rounding_is_undecided():
    """The mean of 0.1, 0.9 and 0.5 is 1/2, or the float next to it."""
    labels = np.array([[0, 1], [0, 1], [0, 1], [2, 2]])
    affinities = np.full((1, 4, 2), 0.9)
    affinities[0, :3, 1] = 0.1, 0.9, 0.5 + 1e-16
    affinities[0, 1, 1] += 2e-16
    graph, _ = graph_from_affinities(affinities, [(0, -1)], labels=labels)
    assert graph.n == 3
    assert graph.m == 0
    one_sided, _ = graph_from_affinities(affinities + 1e-6, [(0, -1)], labels=labels)
    assert one_sided.m == 1


class TestLiftedAffinities:
    OFFSETS = ((0, -1), (-1, 0), (0, -2))

    def test_long_offsets_do_not_connect(self):
        maps = np.full((3, 2, 4), 0.9)
        maps[2] = 0.2
        graph, nodes = graph_from_affinities(maps, self.OFFSETS, long_range="lifted")
        apart = np.abs(np.diff(graph.edges, axis=1))[:, 0]
        assert graph.lifted.tolist() == (apart == 2).tolist()
        assert (graph.weights[graph.lifted] < 0).all()
        assert (graph.weights[~graph.lifted] > 0).all()
        assert nodes.shape == (2, 4)

    def test_pairs_of_superpixels_that_are_both_add_up(self):
        labels = np.array([[0, 0, 1, 1]])
        maps = np.array([[[0.5, 0.5, 0.9, 0.5]], [[0.5, 0.5, 0.5, 0.1]]])
        graph, _ = graph_from_affinities(
            maps, [(0, -1), (0, -3)], labels=labels, long_range="lifted"
        )
        assert graph.lifted is None  # no other pair is there
        assert graph.m == 0  # and the weights cancel

    def test_no_long_offset_is_an_ordinary_graph(self):
        maps = np.full((1, 1, 4), 0.9)
        assert graph_from_affinities(maps, [(0, -1)], long_range="lifted")[0].lifted is None

    def test_something_has_to_connect(self):
        with pytest.raises(ValueError, match="long_range='lifted' needs an offset of length 1"):
            graph_from_affinities(np.full((1, 2, 4), 0.9), [(0, -2)], long_range="lifted")
