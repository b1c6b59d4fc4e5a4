"""Every notebook runs from beginning to end; one is stored with its outputs, which are figures."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
SLOW = ("cpu_gpu", "learn_weights")
WITH_OUTPUTS = "cpu_gpu"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if path.stem != WITH_OUTPUTS:
        assert all((cell.outputs, cell.execution_count) == ([], None) for cell in cells)
        return
    # One run from top to bottom, without an error, with all of its pictures.
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}
    pictures = sum(cell.source.count("plt.show()") for cell in cells)
    assert sum("image/png" in output.get("data", {}) for output in outputs) == pictures > 2


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
