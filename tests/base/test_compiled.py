import importlib
import pickle
import sys

from bdcc_jax.base.compiled import _stamp

MODULE = """
from bdcc_jax.base.compiled import compiled

@compiled
def twice(x):
    return 2 * x
"""


class OfAnotherVersion:
    """A class that is not there when the cache is read."""

    def __reduce__(self):
        return (importlib.import_module, ("bdcc_jax.a_module_that_is_gone",))


def test_a_cache_of_another_version_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "doubling.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    doubling = importlib.import_module("doubling")
    index = doubling.twice._cache._cache_file
    other = pickle.dumps(index._version + " (old)") + pickle.dumps(OfAnotherVersion())
    with open(index._index_path, "wb") as file:
        file.write(other)
    try:
        assert doubling.twice(3) == 6
    finally:
        sys.modules.pop("doubling")
    with open(index._index_path, "rb") as file:
        assert pickle.load(file) == index._version


def test_code_is_compiled_anew_when_a_function_that_it_calls_has_changed(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "calling.py").write_text(MODULE)
    (tmp_path / "inner" / "called.py").write_text(MODULE)
    before = _stamp(tmp_path)
    (tmp_path / "plain.py").write_text("TWO = 2\n")  # nothing compiled depends on it
    assert _stamp(tmp_path) == before
    (tmp_path / "inner" / "called.py").write_text(MODULE.replace("2 * x", "x + x"))
    assert _stamp(tmp_path) != before
