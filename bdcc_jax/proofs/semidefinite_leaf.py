"""Why the bound of a leaf holds that was found by semidefinite programming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..instance.completion import completed
from ..instance.graph import Graph
from ..lp.gram import Gram
from ..lp.rows import Rows
from .certificate import combination
from .price_leaf import once_joined
from .rows_in_nodes import in_nodes


class SemidefiniteLeaf(NamedTuple):
    """Rows, multipliers and a semidefinite matrix, over the nodes that are left of an instance.

    Those that decisions keep together are one, in the order of their first members. The bound may
    be that of a leaf above, which holds, too: then only the first of these decisions are meant.
    """

    rows: Rows
    multipliers: FloatArray
    gram: Gram

    def to_dict(self, n: int, kept: list[list[int]]) -> dict[str, Any]:
        """Write it for an instance with n nodes and the pairs that are kept, from the root on."""
        left = len(self.gram.factor)
        kept = kept[: n - left]
        graph, _ = completed(Graph(left, [], []))
        inside = combination(in_nodes(graph, self.rows), self.multipliers)
        columns = self.gram.factor.T.tolist()
        if columns:
            inside["rows"].append(["gram", 4.0**self.gram.exponent, *columns])
        return once_joined(n, kept, inside)


def to_arrays(leaves: Mapping[int, SemidefiniteLeaf]) -> dict[str, Any]:
    """Leaves by their numbers in a tree, as arrays for a file."""
    sizes = [
        (i, len(leaf.rows), *leaf.gram.factor.shape, leaf.gram.exponent)
        for i, leaf in leaves.items()
    ]
    rows = Rows.concatenate(leaf.rows for leaf in leaves.values()).to_arrays()
    return {
        "semidefinite_sizes": np.array(sizes, dtype=np.int64).reshape(-1, 5),
        "semidefinite_multipliers": _joined(leaf.multipliers for leaf in leaves.values()),
        "semidefinite_factors": _joined(leaf.gram.factor for leaf in leaves.values()),
        **{f"semidefinite_{name}": array for name, array in rows.items()},
    }


def from_arrays(arrays: Mapping[str, Any]) -> dict[int, SemidefiniteLeaf]:
    """The leaves as they were written; none in files that know none."""
    if "semidefinite_sizes" not in arrays:
        return {}
    names = ("starts", "indices", "values", "upper")
    rows = Rows.from_arrays({name: arrays[f"semidefinite_{name}"] for name in names})
    multipliers = arrays["semidefinite_multipliers"]
    factors = arrays["semidefinite_factors"].astype(np.int64)
    leaves, row, entry = {}, 0, 0
    for number, count, n, k, exponent in arrays["semidefinite_sizes"].tolist():
        first, last = rows.starts[[row, row + count]]
        mine = Rows(
            rows.starts[row : row + count + 1] - first,
            rows.indices[first:last],
            rows.values[first:last],
            rows.upper[row : row + count],
        )
        gram = Gram(factors[entry : entry + n * k].reshape(n, k), exponent)
        leaves[number] = SemidefiniteLeaf(mine, multipliers[row : row + count], gram)
        row, entry = row + count, entry + n * k
    return leaves


def _joined(arrays: Iterable[Any]) -> FloatArray:
    return np.concatenate([np.empty(0), *(np.ravel(array) for array in arrays)])
