"""Learn through the clustering: differentiable layers and a structured loss for JAX.

Those for PyTorch are in :mod:`bdcc_jax.layers.torch`.
"""

from .graph_batch import GraphBatch
from .hinge import StructuredHinge
from .multicut import MulticutLayer
from .perturbed import PerturbedMulticut
from .relaxation import LayerOptions

__all__ = ["GraphBatch", "LayerOptions", "MulticutLayer", "PerturbedMulticut", "StructuredHinge"]
