"""A quick run of benchmarks/fuzz.py; the long one is run by hand."""

import pytest

from bdcc_jax.io import triples
from benchmarks.fuzz import TARGETS, check, fuzz, inputs, seeds


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_format_errors(tmp_path, name):
    outcomes = fuzz(name, 300, 0, tmp_path)
    assert outcomes["failed"] == 0
    assert outcomes["refused"] > 50
    assert outcomes["read"] > 5


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_valid(tmp_path, name):
    assert {check(tmp_path / "x", data, name) for data in seeds(name)} == {"read"}


def test_inputs_are_reproducible():
    assert list(inputs("npz", 20, 3)) == list(inputs("npz", 20, 3)) != list(inputs("npz", 20, 4))


def test_a_fault_is_found(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise KeyError("oops")

    monkeypatch.setattr(triples, "decode", broken)
    assert fuzz("triples", 20, 0, tmp_path)["failed"] >= 5
    assert "(triples): KeyError: 'oops'" in capsys.readouterr().err
