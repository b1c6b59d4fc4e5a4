"""The site takes up every page, and notices links that lead nowhere; .ci/run builds all of it."""

import importlib.util
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "site" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_navigation_lists_every_page(hooks):
    sections = hooks.on_config(SimpleNamespace(nav=None)).nav
    listed = [page for section in sections for pages in section.values() for page in pages]
    assert len(listed) == len(set(listed))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages | set(hooks.OUTSIDE.values()) <= set(listed)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("docs/a.md", "[x](../benchmarks/RESULTS.md#scale)", "[x](figures.md#scale)"),
        ("docs/a.md", "[x](results.md)", "[x](results.md)"),
        ("docs/a.md", "[the check](../tests/test_docs.py)", "the check (`test_docs.py`)"),
        ("README.md", "![x](docs/pictures/bounds.png)", "![x](pictures/bounds.png)"),
        ("README.md", "[x](https://example.org/a)", "[x](https://example.org/a)"),
        ("benchmarks/RESULTS.md", "![x](figures/a.png)", "![x](benchmarks/figures/a.png)"),
    ],
)
def test_links_are_mapped(hooks, source, text, expected):
    assert hooks._mapped(text, source, "a.md") == expected


def test_links_that_lead_nowhere_are_warned_of(hooks, tmp_path, caplog):
    (tmp_path / "there.html").write_text('<a href="there.html#x">', encoding="utf-8")
    (tmp_path / "page.html").write_text('<a href="there.html"><img src="gone.png">')
    with caplog.at_level(logging.WARNING):
        hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    assert [record.message for record in caplog.records] == ["page.html: gone.png is not there"]
