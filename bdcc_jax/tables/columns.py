"""Which columns of a table of pairs say what: named by the caller, or known by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["match_weight", "probability", "weight"]

SCORES: dict[str, Kind] = {
    "match_weight": "match_weight",
    "match_probability": "probability",
    "weight": "weight",
}
"""Columns that are recognised, and what they hold; splink's first two say the same."""


@dataclass(frozen=True)
class PairColumns:
    """The columns of a table of pairs.

    Attributes
    ----------
    left, right : str
        The ids of the two records.
    datasets : pair of str, or None
        The dataset of either record. A record is known by its dataset and its id then.
    score : str
        How much the two belong together.
    kind : {'match_weight', 'probability', 'weight'}
        What the score is.
    """

    left: str
    right: str
    datasets: tuple[str, str] | None
    score: str
    kind: Kind

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [self.left, self.right, *(self.datasets or ()), self.score]


def pair_columns(
    there: Sequence[str],
    *,
    left: str | None,
    right: str | None,
    left_dataset: str | None,
    right_dataset: str | None,
    scores: dict[Kind, str | None],
    record_id: str,
    dataset: str,
) -> PairColumns:
    """Find the columns among those that are there.

    Examples
    --------
    >>> found = pair_columns(["source", "target", "p"], left=None, right=None, left_dataset=None,
    ...     right_dataset=None, scores={"probability": "p"}, record_id="unique_id", dataset="d")
    >>> found.left, found.right, found.score, found.kind
    ('source', 'target', 'p', 'probability')
    """
    ends = _couple("left", "right", left, right, there)
    for couple in ((f"{record_id}_l", f"{record_id}_r"), ("source", "target")):
        ends = ends or _if_there(couple, there)
    if ends is None:
        raise ValueError(
            f"no columns with the ids of the two records: the table has {list(there)}; expected "
            f"{record_id}_l and {record_id}_r, or source and target, or left= and right= "
            "(--left, --right)"
        )
    datasets = _couple("left_dataset", "right_dataset", left_dataset, right_dataset, there)
    datasets = datasets or _if_there((f"{dataset}_l", f"{dataset}_r"), there)
    return PairColumns(*ends, datasets, *_score(scores, there))


def _score(scores: dict[Kind, str | None], there: Sequence[str]) -> tuple[str, Kind]:
    named = {kind: name for kind, name in scores.items() if name is not None}
    if len(named) > 1:
        raise ValueError(f"give one of {', '.join(scores)}, not {' and '.join(named)}")
    for kind, name in named.items():
        _check(name, kind, there)
        return name, kind
    for name, kind in SCORES.items():
        if name in there:
            return name, kind
    raise ValueError(
        f"no column with scores: the table has {list(there)}; expected one of {', '.join(SCORES)}, "
        "or one that weight=, probability= or match_weight= names (--weight, ...)"
    )


def _couple(
    first: str, second: str, one: str | None, other: str | None, there: Sequence[str]
) -> tuple[str, str] | None:
    if one is None and other is None:
        return None
    if one is None or other is None:
        raise ValueError(f"{first} and {second} go together: give both columns, or neither")
    _check(one, first, there)
    _check(other, second, there)
    return one, other


def _check(name: str, what: str, there: Sequence[str]) -> None:
    if name not in there:
        raise ValueError(f"{what}: the table has no column {name!r}; it has {list(there)}")


def _if_there(couple: tuple[str, str], there: Sequence[str]) -> tuple[str, str] | None:
    return couple if couple[0] in there and couple[1] in there else None


def record_columns(there: Sequence[str], record_id: str, dataset: str | None) -> list[str]:
    """The columns of a table of records that name these: its only one, or those called so."""
    if dataset is None and len(there) == 1:
        return [there[0]]
    wanted = [record_id] if dataset is None else [dataset, record_id]
    for name in wanted:
        if name not in there:
            raise ValueError(
                f"nodes: the table has no column {name!r}; it has {list(there)}; "
                "record_id= and dataset= (--record-id, --dataset) say how it is called"
            )
    return wanted
