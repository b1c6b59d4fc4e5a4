"""Records of people that do not exist, with the mistakes that records have, and who is who."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LETTERS, DIGITS = list("abcdefghijklmnoprstuvwz"), list("0123456789")
SYLLABLES = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
FORENAMES, SURNAMES, CITIES = 400, 1500, 60
MISTAKE = 0.12
"""How often a field of a record has a mistake."""
MISSING = 0.08
"""How often it is empty."""


class People(NamedTuple):
    """One row a record."""

    columns: dict[str, list[object]]
    truth: np.ndarray


def people(count: int, *, seed: int = 0, mean_records: float = 2.5) -> People:
    """Make records of so many people; everybody has one record or more, 2.5 on average."""
    rng = np.random.default_rng(seed)
    forenames, surnames, cities = (
        _names(rng, pool, syllables)
        for pool, syllables in ((FORENAMES, 2), (SURNAMES, 3), (CITIES, 3))
    )
    copies = 1 + rng.poisson(mean_records - 1, size=count)
    truth = np.repeat(np.arange(count), copies)
    born = rng.integers(1930, 2010, count), rng.integers(1, 13, count), rng.integers(1, 29, count)
    person = {
        "first_name": _common(rng, forenames, count),
        "surname": _common(rng, surnames, count),
        "dob": [f"{y}-{m:02}-{d:02}" for y, m, d in zip(*born, strict=True)],
        "city": _common(rng, cities, count),
    }
    person["email"] = [  # says little that the names do not say
        f"{a}.{b}{i % 97}@mail.example"
        for i, (a, b) in enumerate(zip(person["first_name"], person["surname"], strict=True))
    ]
    person["phone"] = [f"0{number}" for number in rng.integers(10**8, 10**9, count)]
    columns: dict[str, list[object]] = {"unique_id": [f"r{i}" for i in range(len(truth))]}
    for name, values in person.items():
        columns[name] = [_written(rng, values[i], name) for i in truth]
    return People(columns, truth)


def _names(rng: np.random.Generator, count: int, syllables: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(SYLLABLES, syllables))] = None
    return list(found)


def _common(rng: np.random.Generator, names: list[str], count: int) -> list[str]:
    """Some names are common, most are rare."""
    share = 1 / np.arange(1, len(names) + 1) ** 0.8
    return [names[i] for i in rng.choice(len(names), count, p=share / share.sum())]


def _written(rng: np.random.Generator, value: str, name: str) -> str | None:
    dice = rng.random()
    if dice < MISSING:
        return None
    if dice > MISSING + MISTAKE:
        return value
    if name == "dob":  # another day, or day and month of somebody who was in a hurry
        return f"{value[:8]}{rng.integers(1, 29):02}"
    at, letter = (
        int(rng.integers(len(value))),
        str(rng.choice(DIGITS if name == "phone" else LETTERS)),
    )
    kind = rng.integers(3)
    return value[:at] + ("" if kind == 0 else letter) + value[at + (kind != 1) :]
