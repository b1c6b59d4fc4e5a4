"""What a file that cannot be understood raises, and what a format cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..instance.graph import Graph


class FormatError(ValueError):
    """A file's content is not what its format asks for; says where and what was expected."""


def refuse_names(graph: Graph, what: str) -> None:
    """Raise ValueError if the nodes have names, which this kind of file would lose."""
    if graph.names is not None:
        raise ValueError(
            f"{what} has no place for node names: write .npz or an edge list, or drop them "
            "(Graph(graph.n, graph.edges, graph.weights), or bdcc-jax convert --drop-names)"
        )
