"""The page on licences names every package that can be asked for, and none is under the GPL."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED_FOR = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
NAMES = sorted({re.split(r"[\[<>=~! ]", one)[0] for one in ASKED_FOR} - {"bdcc-jax"})
PAGE = (ROOT / "docs" / "licences.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_listed_and_free(name):
    row = next((line for line in PAGE.splitlines() if re.search(rf"\b{name}\b", line)), None)
    assert row is not None, f"{name} is missing in docs/licences.md"
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        return
    fields = [facts.get("License-Expression"), *(facts.get_all("Classifier") or [])]
    assert not [field for field in fields if field and "GPL" in field]
