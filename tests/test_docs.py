"""Every block of Python in the documentation runs as it stands, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = {
    f"{page.relative_to(ROOT)}-{number}": code
    for page in PAGES
    for number, code in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")))
}


YOURS = ("torch", "elf")
"""Packages of users that no extra brings: their blocks run where they are installed."""


@pytest.mark.parametrize("code", BLOCKS.values(), ids=BLOCKS.keys())
def test_code_runs_and_prints_what_it_says(code, capsys, tmp_path, monkeypatch):
    for name in YOURS:
        if re.search(rf"^(?:import|from) {name}\b", code, re.MULTILINE):
            pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for expected in re.findall(r"^print\(.*\)  # (.+)$", code, re.MULTILINE):
        assert expected in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), target


def test_every_page_is_listed():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "README.md").read_text())
    assert sorted(listed) == [page.name for page in PAGES if page.name != "README.md"]
