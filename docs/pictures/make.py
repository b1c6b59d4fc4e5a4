"""Draw the pictures of the README anew: ``python docs/pictures/make.py [NAME ...]``."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import bdcc_jax
from bdcc_jax import Options
from bdcc_jax.graphs import modularity, modularity_graph
from bdcc_jax.image import example_picture, superpixel_graph

HERE = Path(__file__).parent
RECORDS = [
    ("A. Smith", "Ann Smith", 2.9), ("Ann Smith", "Smith, Ann", 3.5),
    ("A. Smith", "Smith, Ann", 2.2),
    ("Al Smith", "Smith, Al", 3.0), ("A. Smith", "Al Smith", 1.0), ("Ann Smith", "Al Smith", -2.5),
    ("Smith, Ann", "Smith, Al", -3.0), ("B. Smit", "Bo Smit", 2.5), ("B. Smit", "Al Smith", -1.5),
]  # fmt: skip
"""Pairs of records and the log-odds that they are the same: one of them is a false friend."""


def uses() -> None:
    """What it is for: a picture, a network, records."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    _picture(axes[0])
    _network(axes[1])
    _records(axes[2])
    figure.savefig(HERE / "uses.png", dpi=90, pil_kwargs={"optimize": True})


def _picture(ax: plt.Axes) -> None:
    picture = example_picture("coffee")
    graph, superpixels = superpixel_graph(picture, 800, method="watershed", attractive=0.85)
    result = bdcc_jax.solve(graph)
    result.plot_segmentation(picture, superpixels, ax, fill="mean")
    ax.set_title(f"Pictures: {graph.n} superpixels,\n{result.n_clusters} regions, {result.status}")


def _network(ax: plt.Axes) -> None:
    network = nx.les_miserables_graph()
    result = bdcc_jax.solve(modularity_graph(network))
    clusters = result.clusters
    place = nx.spring_layout(network, seed=4, weight=None)
    colours = [clusters[node] for node in network]
    nx.draw_networkx_edges(network, place, ax=ax, edge_color="0.8", width=0.6)
    nx.draw_networkx_nodes(network, place, ax=ax, node_color=colours, cmap="tab10", node_size=28)
    ax.set_axis_off()
    best = modularity(network, result.objective)
    found = f"modularity {best:.3f}, {result.status}"
    ax.set_title(f"Networks: communities of Les Misérables,\n{found}")


def _records(ax: plt.Axes) -> None:
    pairs = nx.Graph()
    pairs.add_weighted_edges_from(RECORDS)
    result = bdcc_jax.solve(pairs)
    place = nx.spring_layout(pairs, seed=1, weight=None, iterations=200)
    w = np.array([weight for *_, weight in pairs.edges(data="weight")])
    colours = np.where(w > 0, "tab:blue", "tab:red").tolist()
    nx.draw_networkx_edges(pairs, place, ax=ax, edge_color=colours, width=np.abs(w))
    shades = [plt.cm.Pastel2(result.clusters[node]) for node in pairs]
    nx.draw_networkx_nodes(pairs, place, ax=ax, node_color=shades, node_size=500, edgecolors="0.4")
    nx.draw_networkx_labels(pairs, place, ax=ax, font_size=8)
    ax.set_axis_off()
    ax.margins(0.15)
    ax.set_title(f"Records: {len(pairs)} names,\n{result.n_clusters} people, {result.status}")


def segmentation() -> None:
    """Superpixels and regions of a picture."""
    picture = example_picture("coffee")
    graph, superpixels = superpixel_graph(picture, 800, method="watershed", attractive=0.8)
    result = bdcc_jax.solve(graph)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
    result.plot_segmentation(picture, superpixels, axes[0])
    result.plot_segmentation(picture, superpixels, axes[1], fill="mean")
    axes[0].set_title(f"{graph.n} superpixels, {graph.m} edges")
    axes[1].set_title(f"{result.n_clusters} regions, {result.status}")
    figure.savefig(HERE / "segmentation.jpg", dpi=90, pil_kwargs={"quality": 85})


def bounds() -> None:
    """Both bounds against the time, by the paper's method and by default; takes two minutes."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
    graph, _ = superpixel_graph(example_picture("coffee"), 3000, method="watershed", attractive=0.8)
    runs = {"the paper's method": Options.paper(), "the default": Options()}
    for ax, (name, options) in zip(axes, runs.items(), strict=True):
        result = bdcc_jax.solve(graph, options=options, time_limit=120)
        result.plot_bounds(ax)
        ax.set_title(f"{name}: {result.status}")
    axes[0].set_ylim(1.06 * result.objective, 0.98 * result.objective)
    figure.savefig(HERE / "bounds.png", dpi=90)


PICTURES = {"uses": uses, "segmentation": segmentation, "bounds": bounds}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
