"""What a release says in several places is the same in all of them; see docs/releasing.md."""

import re
import tomllib
from pathlib import Path

import yaml

import bdcc_jax

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
RECIPE = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
AUTHORS = ("Margret Keuper", "Jovita Lukasik", "Maneesh Singh", "Julian Yarkony")


def test_versions():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\d[^\]]*)\]", changes, re.MULTILINE)[0] == bdcc_jax.__version__
    assert CITATION["version"] == bdcc_jax.__version__
    assert f'{{% set version = "{bdcc_jax.__version__}" %}}' in RECIPE


def test_the_recipe_needs_what_the_package_needs():
    listed = RECIPE.partition("  run:\n")[2].partition("\ntest:")[0]
    needed = {line.strip(" -").replace(" ", "") for line in listed.splitlines() if line.strip()}
    assert needed == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_the_paper_is_named():
    paper = CITATION["preferred-citation"]
    named = [f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
    assert tuple(named) == AUTHORS
    for page in ("README.md", "docs/method.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert paper["title"] in text
        assert str(paper["year"]) in text
        for author in AUTHORS:
            assert author in text


def test_workflows_run_what_the_clone_runs():
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        assert {"run": ".ci/run"} in steps


def test_nobody_is_told_to_install_what_is_not_published():
    """Until it is: in a clone. See docs/releasing.md."""
    folders = ("bdcc_jax", "docs", "notebooks", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    for path in [*files, *ROOT.glob("*.md")]:
        if path.suffix in (".md", ".py", ".ipynb") and path.name != "releasing.md":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"pip install \\?\"?bdcc-jax", text), path
