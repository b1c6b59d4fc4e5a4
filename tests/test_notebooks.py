"""Every notebook runs from beginning to end, and is stored without what running it left behind."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
SLOW = ("cpu_gpu", "learn_weights")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    context = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=None, kernel_name="python3", resources=context).execute()
