"""Learn through the clustering: differentiable layers and a structured loss for JAX."""

from .hinge import StructuredHinge
from .multicut import MulticutLayer
from .perturbed import PerturbedMulticut
from .relaxation import LayerOptions

__all__ = ["LayerOptions", "MulticutLayer", "PerturbedMulticut", "StructuredHinge"]
