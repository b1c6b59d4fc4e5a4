"""Lower bounds without an LP solver: message passing on triangles, as an array program."""

from .ascent import DualAscent, Relaxed

__all__ = ["DualAscent", "Relaxed"]
