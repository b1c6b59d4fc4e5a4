"""Reductions that keep the optimum, and how a clustering of the rest is lifted back."""

from .driver import Presolved, Removed, presolve

__all__ = ["Presolved", "Removed", "presolve"]
