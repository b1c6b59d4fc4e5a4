"""What a clustering must do whatever it costs.

Pairs that stay together, pairs that stay apart, how many clusters there may be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..base.components import connected_components
from ..base.validation import is_missing

Pairs = ArrayLike | Iterable[tuple[Hashable, Hashable]]
Groups = ArrayLike | Mapping[Any, Hashable]
NodeOf = Callable[[Hashable], int]

NO_PAIRS: IntArray = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Pairs of nodes that every clustering keeps together, or apart.

    Attributes
    ----------
    must_link, cannot_link : ndarray of int, shape (k, 2)
        Pairs ``u < v`` in order, each once. A pair need not be an edge.
    groups : ndarray of int, shape (n,), or None
        No two nodes of one group are in one cluster; -1 for a node that is in no group.
    min_clusters, max_clusters : int or None
        How many clusters there are at least, and at most.
    """

    must_link: IntArray = field(default_factory=lambda: NO_PAIRS)
    cannot_link: IntArray = field(default_factory=lambda: NO_PAIRS)
    groups: IntArray | None = None
    min_clusters: int | None = None
    max_clusters: int | None = None

    @classmethod
    def of(
        cls,
        n: int,
        node: NodeOf | None,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        groups: Groups | None = None,
        min_clusters: int | None = None,
        max_clusters: int | None = None,
    ) -> Constraints:
        """What a user says of n nodes: by id, or by names that ``node`` turns into ids."""
        must, cannot = (
            pairs_of(pairs, what, n, node)
            for pairs, what in ((must_link, "must_link"), (cannot_link, "cannot_link"))
        )
        numbers = (
            number_of(number, what, n)
            for number, what in ((min_clusters, "min_clusters"), (max_clusters, "max_clusters"))
        )
        return cls(must, cannot, groups_of(groups, n, node), *numbers)

    @classmethod
    def infinite(cls, u: IntArray, v: IntArray, w: FloatArray) -> Constraints:
        """What edges with infinite weights mean: +inf must be kept, -inf must be cut."""
        pairs = np.column_stack([u, v])
        return cls(_once(pairs[w == np.inf]), _once(pairs[w == -np.inf]))

    def __bool__(self) -> bool:
        return len(self.features) > 0

    @property
    def features(self) -> tuple[str, ...]:
        """Which kinds of constraints there are, as :mod:`~bdcc_jax.combinations` names them."""
        said = {
            "must_link": len(self.must_link) > 0,
            "cannot_link": len(self.cannot_link) > 0,
            "groups": self.groups is not None,
            "min_clusters": self.min_clusters is not None,
            "max_clusters": self.max_clusters is not None,
        }
        return tuple(name for name, there in said.items() if there)

    @property
    def links(self) -> bool:
        """Whether there are pairs that stay together or apart."""
        return len(self.must_link) + len(self.cannot_link) > 0 or self.groups is not None

    @property
    def numbers(self) -> Constraints:
        """Only how many clusters there may be."""
        return Constraints(min_clusters=self.min_clusters, max_clusters=self.max_clusters)

    def bytes(self) -> bytes:
        """All of it, for digests."""
        parts = [self.must_link, self.cannot_link] if self.links else []
        if self.groups is not None:
            parts.append(self.groups)
        data = b"".join(
            len(part).to_bytes(8, "little") + part.astype("<i8").tobytes() for part in parts
        )
        for name in ("min_clusters", "max_clusters"):
            if (number := getattr(self, name)) is not None:
                data += f"{name} {number}".encode()
        return data

    def also(self, other: Constraints) -> Constraints:
        """Both."""
        if self.groups is not None and other.groups is not None:
            raise ValueError("the graph has groups already; give all of them in one array")
        return Constraints(
            _once(np.concatenate([self.must_link, other.must_link])),
            _once(np.concatenate([self.cannot_link, other.cannot_link])),
            self.groups if other.groups is None else other.groups,
            _extreme(max, self.min_clusters, other.min_clusters),
            _extreme(min, self.max_clusters, other.max_clusters),
        )

    def joined(self, n: int) -> IntArray:
        """Number n nodes so that those which must-links join have the same number."""
        u, v = self.must_link.T
        return connected_components(n, u, v, np.ones(len(u), dtype=bool))

    def violated(self, labels: IntArray) -> tuple[str, int, int] | None:
        """A pair that a clustering has wrong, and which kind it is; None if there is none."""
        for kind, pairs, wrong in (
            ("must_link", self.must_link, np.not_equal),
            ("cannot_link", self.cannot_link, np.equal),
        ):
            at = np.flatnonzero(wrong(labels[pairs[:, 0]], labels[pairs[:, 1]]))
            if len(at):
                return kind, int(pairs[at[0], 0]), int(pairs[at[0], 1])
        if self.groups is None:
            return None
        pair = _two_of_a_group(self.groups, labels)
        return None if pair is None else ("groups", *pair)

    def wrong_number(self, labels: IntArray) -> str | None:
        """What is wrong about the number of clusters, in words; None if nothing is."""
        count = len(np.unique(labels))
        if count < (self.min_clusters or 1):
            return f"{count} clusters, less than min_clusters = {self.min_clusters}"
        if self.max_clusters is not None and count > self.max_clusters:
            return f"{count} clusters, more than max_clusters = {self.max_clusters}"
        return None

    def check(self, n: int, name: Callable[[int], Any]) -> None:
        """Raise ValueError if no clustering of n nodes can have all of it, and say why."""
        if not self:
            return
        same = np.flatnonzero(self.cannot_link[:, 0] == self.cannot_link[:, 1])
        if len(same):
            node = name(int(self.cannot_link[same[0], 0]))
            raise ValueError(f"cannot_link: node {node!r} cannot be apart from itself")
        wrong = self.violated(self.joined(n))
        if wrong is not None:
            kind, u, v = wrong
            chain = [(name(a), name(b)) for a, b in _chain(self.must_link, u, v)]
            why = f"cannot_link {(name(u), name(v))!r}"
            if kind == "groups":
                why = f"that nodes {name(u)!r} and {name(v)!r} are of one group"
            raise ValueError(f"must_link {', '.join(map(repr, chain))} contradicts {why}")
        least, most = self.min_clusters or 1, n if self.max_clusters is None else self.max_clusters
        if least > most:
            raise ValueError(f"min_clusters is {least}, but max_clusters is {most}")
        if least > (left := int(self.joined(n).max()) + 1):
            raise ValueError(
                f"min_clusters is {least}, but must_link leaves no more than {left} clusters"
            )


NONE = Constraints()


def number_of(number: int | None, what: str, n: int) -> int | None:
    """Check a number of clusters of n nodes."""
    if number is None:
        return None
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number <= n:
        raise ValueError(f"{what} must be an integer from 1 to {n}, the nodes, not {number!r}")
    return int(number)


def _extreme(choose: Callable[..., int], *numbers: int | None) -> int | None:
    given = [number for number in numbers if number is not None]
    return choose(given) if given else None


def pairs_of(pairs: Pairs | None, what: str, n: int, node: NodeOf | None) -> IntArray:
    """Check pairs of nodes: ids below n, or names that ``node`` turns into ids."""
    if pairs is None:
        return NO_PAIRS
    listed = pairs if isinstance(pairs, np.ndarray) else list(pairs)  # type: ignore[arg-type]
    if len(listed) == 0:
        return NO_PAIRS
    if node is not None:
        listed = [_ends(pair, what, i, node) for i, pair in enumerate(listed)]
    try:
        array = np.asarray(listed)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{what} must be pairs of nodes, shape (k, 2), not {listed!r:.80}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be pairs of node ids (whole numbers), not {array.flat[0]!r}")
    bad = (array < 0) | (array >= n)
    if bad.any():
        at = int(np.flatnonzero(bad.any(axis=1))[0])
        raise ValueError(f"{what}[{at}] is {tuple(array[at].tolist())}: node ids are 0 .. {n - 1}")
    return _once(array.astype(np.int64))


def groups_of(groups: Groups | None, n: int, node: NodeOf | None) -> IntArray | None:
    """Check groups: one a node, or a mapping from nodes; None, NaN and -1 are no group."""
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        listed: list[Any] = [None] * n
        for key, group in groups.items():
            listed[_id(key, n) if node is None else node(key)] = group
    else:
        listed = np.asarray(groups).tolist()
    if not isinstance(listed, list) or len(listed) != n or any(isinstance(g, list) for g in listed):
        raise ValueError(f"groups must have one entry a node ({n}), or map nodes to groups")
    number: dict[Any, int] = {}
    found = np.array(
        [-1 if _is_none(group) else number.setdefault(group, len(number)) for group in listed],
        dtype=np.int64,
    )
    return found if number else None


def pairs_within(groups: IntArray, parts: IntArray) -> IntArray:
    """All pairs of nodes of one group and one part."""
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.lexsort((inside, parts[inside], groups[inside]))]
    new = (np.diff(groups[order], prepend=-2) != 0) | (np.diff(parts[order], prepend=-2) != 0)
    starts = np.flatnonzero(new)
    found = [NO_PAIRS]
    for members in np.split(order, starts[1:]):
        i, j = np.triu_indices(len(members), 1)
        found.append(np.column_stack([members[i], members[j]]))
    return np.concatenate(found)


def _id(key: Any, n: int) -> int:
    if not isinstance(key, int | np.integer) or not 0 <= key < n:
        raise ValueError(f"groups: there is no node {key!r}; node ids are 0 .. {n - 1}")
    return int(key)


def _once(pairs: IntArray) -> IntArray:
    """Pairs as u < v in order, each once; must-links of a node to itself say nothing."""
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else NO_PAIRS


def _ends(pair: Any, what: str, at: int, node: NodeOf) -> tuple[int, int]:
    try:
        a, b = pair
    except (TypeError, ValueError):
        raise ValueError(f"{what}[{at}] must be a pair of nodes, not {pair!r}") from None
    return node(a), node(b)


def _is_none(group: Any) -> bool:
    return is_missing(group) or group != group or (isinstance(group, int | float) and group == -1)


def _two_of_a_group(groups: IntArray, labels: IntArray) -> tuple[int, int] | None:
    """Two nodes of one group with the same label."""
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.lexsort((inside, labels[inside], groups[inside]))]
    a, b = order[:-1], order[1:]
    at = np.flatnonzero((groups[a] == groups[b]) & (labels[a] == labels[b]))
    return (int(a[at[0]]), int(b[at[0]])) if len(at) else None


def _chain(must_link: IntArray, u: int, v: int) -> Sequence[tuple[int, int]]:
    """The shortest way from u to v along must-links, as pairs."""
    at: dict[int, list[int]] = {}
    for a, b in must_link.tolist():
        at.setdefault(a, []).append(b)
        at.setdefault(b, []).append(a)
    before, queue = {u: u}, deque([u])
    while v not in before:
        x = queue.popleft()
        for y in at[x]:
            if y not in before:
                before[y] = x
                queue.append(y)
    chain = [v]
    while chain[-1] != u:
        chain.append(before[chain[-1]])
    return [*zip(chain[::-1], chain[-2::-1], strict=False)]
