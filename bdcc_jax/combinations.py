"""What can be asked for together: one table, which the door asks and the docs show.

Every pair of features that is not named in ``REFUSED`` works. Whoever knows what is asked for
calls :func:`check_together`: a graph when it gets a feature, a solve with its arguments, a result
when it is asked more.
"""

from collections.abc import Iterable
from itertools import combinations

MODELS = {
    "must_link": "`must_link`",
    "cannot_link": "`cannot_link`",
    "groups": "`groups`",
    "lifted": "`lifted`",
    "unaries": "`unaries`",
    "min_clusters": "`min_clusters`",
    "max_clusters": "`max_clusters`",
}
"""What an instance may have besides edges and weights, and what it is called in the docs."""

OTHERS = {
    "initial": "`initial`",
    "limits": "`gap`, `time_limit`",
    "checkpoint": "`checkpoint`",
    "paper": "`Options.paper()`, `engine`, `tau`, `rows`, `integer`",
    "solve_batch": "`solve_batch`",
    "estimator": "`CorrelationClustering`",
    "alternatives": "`result.alternatives`",
    "margin": "`result.margin`",
    "certificate": "certificates",
    "npz": "`.npz`",
    "other files": "other files",
}
"""What a user may do with any instance."""

_LINKS = ("must_link", "cannot_link", "groups")
_NO_LIFTED_LINKS = "give such a pair a large finite weight instead"
_ONE_PROBLEM = "no branch and cut here knows both"
_COLOURING = "whether there is any such clustering at all is a problem of graph colouring"
_NEEDS_LINKS = "it solves the instance again with must_link or cannot_link"
_OWN_ROWS = "it has rows of its own, and neither the paper's nor HiGHS' ILP know these"
_NO_PLACE = "only .npz has a place for it"

REFUSED: dict[frozenset[str], str] = {
    frozenset(pair): why
    for why, pairs in {
        _NO_LIFTED_LINKS: [("lifted", link) for link in _LINKS],
        _ONE_PROBLEM: [
            ("lifted", "unaries"),
            ("lifted", "min_clusters"),
            ("lifted", "max_clusters"),
            ("unaries", "min_clusters"),
            ("unaries", "max_clusters"),
        ],
        _COLOURING: [("max_clusters", "cannot_link"), ("max_clusters", "groups")],
        _NEEDS_LINKS: [
            (model, asked)
            for model in ("lifted", "max_clusters")
            for asked in ("alternatives", "margin")
        ],
        _OWN_ROWS: [
            (model, "paper") for model in ("lifted", "unaries", "min_clusters", "max_clusters")
        ],
        _NO_PLACE: [(model, "other files") for model in MODELS if model != "lifted"],
    }.items()
    for pair in pairs
}
"""Pairs of features that are refused, and why."""

ABSENT = {frozenset(("estimator", "lifted"))}
"""Pairs that nobody can ask for: the estimator makes edges of all pairs of samples."""


def check_together(features: Iterable[str]) -> None:
    """Raise ValueError if two features cannot be had together.

    Examples
    --------
    >>> check_together(["must_link", "initial"])
    >>> check_together(["max_clusters", "groups"])
    Traceback (most recent call last):
    ValueError: max_clusters and groups cannot be had together: whether there is any such \
clustering at all is a problem of graph colouring
    """
    for a, b in combinations(features, 2):
        if (why := REFUSED.get(frozenset((a, b)))) is not None:
            raise ValueError(f"{a} and {b} cannot be had together: {why}")


def table() -> str:
    """The table of the docs: which features go with which, and why others do not.

    Examples
    --------
    >>> print(table().splitlines()[2][:37])
    | `must_link` | | yes | yes | [1] | y
    """
    names = {**MODELS, **OTHERS}
    numbers: dict[str, int] = {}
    for why in REFUSED.values():
        numbers.setdefault(why, len(numbers) + 1)
    lines = [f"| | {' | '.join(MODELS.values())} |", "|---" * (len(MODELS) + 1) + "|"]
    for key, name in names.items():
        cells = []
        for model in MODELS:
            refused = REFUSED.get(frozenset((key, model)))
            known = "yes" if refused is None else f"[{numbers[refused]}]"
            cells.append("" if key == model or {key, model} in ABSENT else known)
        lines.append("".join(f"| {cell} " if cell else "| " for cell in [name, *cells]) + "|")
    notes = [f"[{number}] Refused: {why}." for why, number in numbers.items()]
    return "\n".join([*lines, "", "<br>\n".join(notes)])
