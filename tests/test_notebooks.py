"""Every notebook runs from beginning to end, and prints what is stored; see notebooks/make.py."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
SLOW = ("cpu_gpu", "learn_weights")
MEASURES = "cpu_gpu"
LARGEST = 300_000


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed(notebook):
    return "".join(output.text for output in outputs(notebook) if output.get("name") == "stdout")


def pictures(notebook):
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored(path):
    """One run from top to bottom, without an error, with all of its pictures."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert {output.output_type for output in outputs(notebook)} <= {"stream", "display_data"}
    assert pictures(notebook) >= 2
    assert path.stat().st_size < LARGEST  # the repository stays small
    if path.stem != MEASURES:
        assert "seconds" not in printed(notebook)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_runs_and_prints_what_is_stored(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    stored = printed(notebook), pictures(notebook)
    context = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=None, kernel_name="python3", resources=context).execute()
    if path.stem != MEASURES:
        assert (printed(notebook), pictures(notebook)) == stored
