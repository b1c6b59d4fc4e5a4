"""Draw the pictures of the README anew: ``python docs/pictures/make.py``."""

from pathlib import Path

import matplotlib.pyplot as plt

import bdcc_jax
from bdcc_jax import Options
from bdcc_jax.image import example_picture, superpixel_graph

picture = example_picture("coffee")
graph, superpixels = superpixel_graph(picture, 800, method="watershed", attractive=0.8)
result = bdcc_jax.solve(graph)
here = Path(__file__).parent

figure, axes = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
result.plot_segmentation(picture, superpixels, axes[0])
result.plot_segmentation(picture, superpixels, axes[1], fill="mean")
axes[0].set_title(f"{graph.n} superpixels, {graph.m} edges")
axes[1].set_title(f"{result.n_clusters} regions, {result.status}")
figure.savefig(here / "segmentation.jpg", dpi=90, pil_kwargs={"quality": 85})

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
graph, _ = superpixel_graph(picture, 3000, method="watershed", attractive=0.8)
runs = {"the paper's method": Options.paper(), "the default": Options()}
for ax, (name, options) in zip(axes, runs.items(), strict=True):
    result = bdcc_jax.solve(graph, options=options, time_limit=120)
    result.plot_bounds(ax)
    ax.set_title(f"{name}: {result.status}")
axes[0].set_ylim(1.06 * result.objective, 0.98 * result.objective)
figure.savefig(here / "bounds.png", dpi=90)
