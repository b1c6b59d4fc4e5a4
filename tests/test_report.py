import os
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pytest
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Graph, Options, Status, cli
from bdcc_jax.report import MOST_ROUNDS, html_report
from bdcc_jax.show.plots import BAR_COLOUR, LOWER_COLOUR, UPPER_COLOUR

SCRIPT = "<script>document.title='?'</script>"
PICTURE = '"><img src=x onerror="document.title=\'attacked\'">&amp;'
HOSTILE = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, -2.0, 3.0], names=[SCRIPT, PICTURE[:40], 2, "x"])
HARD = random_graph(np.random.default_rng(1), 10, 1.0)
VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """All elements with their attributes, and all text; tags must match."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self._open = [], "", []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def check_harmless(self):
        """Nothing that runs, nothing that is loaded from elsewhere."""
        tags = {tag for tag, _ in self.elements}
        assert tags.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "base"})
        for _, attributes in self.elements:
            for name, value in attributes.items():
                assert not name.startswith("on")
                assert name not in ("src", "srcset", "action", "formaction")
                inside = ("#", "data:image/png;base64,")
                assert not name.endswith("href") or value.startswith(inside)
        assert "@import" not in self.text
        ids = [attributes.get("id") for _, attributes in self.elements]
        for _, attributes in self.elements:
            target = attributes.get("xlink:href", "")
            if target.startswith("#"):
                assert ids.count(target[1:]) == 1  # not that of another picture
        return self


def test_everything_is_there():
    result = bdcc_jax.solve(HARD, options=Options(presolve=False, ball_size=32))
    page = Page(html_report(result, "an instance", {"seed": 7})).check_harmless()
    assert [tag for tag, _ in page.elements].count("svg") == 4
    for text in (
        "an instance",
        result.status.explanation,
        f"{result.objective:.8g}",
        f"{len(result.history)} rounds",
        "seconds",
        "nodes in the cluster",
        "ball_size",
        "highspy",
        "seed",
    ):
        assert text in page.text
    assert page.elements.count(("tr", {"class": "changed"})) == 2  # presolve and ball_size


def test_everything_is_escaped():
    result = bdcc_jax.solve(HOSTILE)
    page = Page(html_report(result, SCRIPT, {PICTURE: PICTURE})).check_harmless()
    assert page.text.count(SCRIPT) == 2 + 1  # title, heading, the name of a node
    assert page.text.count(PICTURE) == 2
    assert PICTURE[:40] in page.text


def test_long_and_odd_runs():
    result = bdcc_jax.solve(HARD, options=Options(presolve=False))
    many = replace(result, history=result.history * 500)
    page = Page(html_report(many))
    assert sum(tag == "tr" for tag, _ in page.elements) < 3 * MOST_ROUNDS
    assert f"{len(many.history)} rounds; one in" in page.text
    open_gap = replace(
        result, status=Status.NUMERICAL, objective=0.0, history=(), labels=np.zeros(10, int)
    )
    assert "None were needed" in Page(html_report(open_gap)).check_harmless().text
    Page(html_report(bdcc_jax.solve(Graph(1, [], [])))).check_harmless()


def test_the_clustering_is_shown():
    picture, superpixels = np.linspace(0, 1, 10).reshape(2, 5), np.arange(10).reshape(2, 5)
    result = bdcc_jax.solve(HARD)
    page = Page(html_report(result, picture=(picture, superpixels))).check_harmless()
    assert f"{result.n_clusters} regions" in page.text
    assert "blue attracts" not in page.text
    assert "blue attracts, red repels" in Page(html_report(result)).text


def test_advice_where_a_gap_is_left():
    result = bdcc_jax.solve(HARD)
    assert "as far as is proven" not in Page(html_report(result)).text
    cut_short = replace(
        result, status=Status.TIME_LIMIT, lower_bound=result.objective - abs(result.objective)
    )
    text = Page(html_report(cut_short)).check_harmless().text
    assert "The gap is 100 %" in text
    assert "The instance is dense" in text


def test_other_is_explained_and_nothing_is_said_twice():
    text = Page(html_report(bdcc_jax.solve(HARD, options=Options(presolve=False)))).text
    assert "other: what lies between these" in text
    assert text.count("lower bound") == 2 + 1  # above, in the legend, and as a heading of rounds


def test_plots_follow_a_dark_page():
    page = html_report(bdcc_jax.solve(HARD, options=Options(presolve=False)))
    assert "prefers-color-scheme: dark" in page
    for colour in ("#0a0b0c", BAR_COLOUR, LOWER_COLOUR, UPPER_COLOUR):
        assert colour not in page.partition("</style>")[2]


def test_notebook_table():
    result = replace(bdcc_jax.solve(HOSTILE), device=SCRIPT)
    page = Page(result._repr_html_())
    assert {tag for tag, _ in page.elements} == {"table", "tbody", "tr", "th", "td"}
    assert SCRIPT in page.text
    for line in result.summary().splitlines():
        assert line[14:] in page.text


# From the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bdcc_jax.write(HARD, tmp_path / "graph.txt")
    return tmp_path


def test_command_line(folder, capsys):
    arguments = ["solve", "graph.txt", "--report", "run.html", "--quiet", "--time-limit", "77"]
    assert cli.main(arguments) == 0
    page = Page((folder / "run.html").read_text(encoding="utf-8")).check_harmless()
    assert "graph.txt" in page.text
    assert "77.0" in page.text
    (folder / "run.html").write_text("precious")
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert "run.html exists" in capsys.readouterr().err
    assert (folder / "run.html").read_text() == "precious"
    assert cli.main([*arguments, "--force"]) == 0
    assert (folder / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_without_matplotlib_nothing_starts(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(cli.solve, "solve_graph", None)
    with pytest.raises(SystemExit):
        cli.main(["solve", "graph.txt", "--report", "run.html"])
    assert 'pip install ".[plot]"' in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are not Unicode")
def test_file_name_that_is_not_unicode(folder):
    name = os.fsdecode(b"\xff<b>.txt")
    shutil.copy("graph.txt", name)
    assert cli.main(["solve", name, "--report", "run.html", "--quiet"]) == 0
    assert "\\udcff<b>.txt" in Page((folder / "run.html").read_text(encoding="utf-8")).text


# In a real browser

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)


def browse(profile, page, *arguments):
    quiet = "--disable-background-networking --disable-component-update --disable-sync"
    done = subprocess.run(
        [
            BROWSER,
            *["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
            *quiet.split(),
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            *arguments,
            page.as_uri(),
        ],
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_in_a_browser(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "<img src=x onerror=document.title='attacked'>.txt"
    bdcc_jax.write(HARD, tmp_path / name)
    assert cli.main(["solve", name, "--report", "run.html", "--quiet"]) == 0
    profile, screenshot = tmp_path / "profile", tmp_path / "page.png"
    dom = browse(profile, tmp_path / "run.html", "--dump-dom")
    page = Page(dom).check_harmless()
    assert page.text.count(name) == 3  # title, heading, settings
    assert "attacked</title>" not in dom
    browse(profile, tmp_path / "run.html", f"--screenshot={screenshot}", "--window-size=1100,2200")
    pixels = np.rint(255 * matplotlib.image.imread(screenshot)[..., :3]).astype(int)
    assert pixels.shape[:2] == (2200, 1100)
    for colour in (LOWER_COLOUR, UPPER_COLOUR):
        rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (np.abs(pixels - rgb).max(axis=2) < 12).sum() > 100
