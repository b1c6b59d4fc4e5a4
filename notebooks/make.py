"""Run notebooks from beginning to end and store their outputs: ``python notebooks/make.py [NAME ...]``.

Those of all but ``cpu_gpu``, which measures times, are the same at every run: no seconds are
printed or drawn. Pictures are stored with few colours, so that the repository stays small. Without
names, all notebooks but ``cpu_gpu`` are run. The gallery's pictures are made from what is stored.
"""

import base64
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent
MEASURES = "cpu_gpu"
COLOURS, WIDEST, THUMBNAIL = 64, 900, 360
SHOWN = {
    "cpu_gpu": 0,
    "learn_weights": 1,
    "networks": 0,
    "panoptic": 1,
    "round_by_round": 3,
    "segment_a_picture": 0,
}
"""Which of its pictures stands for a notebook in the gallery."""


def small(picture: bytes, widest: int) -> bytes:
    """A PNG as one of few colours, and no wider or higher than this."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((widest, widest), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


def pictures(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The outputs that are pictures."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return [output for output in outputs if "image/png" in output.get("data", {})]


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook as it is after a run, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    context = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=None, kernel_name="python3", resources=context).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    for output in pictures(notebook):
        content = small(base64.b64decode(output.data["image/png"]), WIDEST)
        output.data["image/png"] = base64.b64encode(content).decode()
    notebook.metadata.pop("language_info", None)
    return notebook


def main() -> None:
    """Store the outputs of the notebooks that are named."""
    names = sys.argv[1:] or sorted(p.stem for p in HERE.glob("*.ipynb") if p.stem != MEASURES)
    for name in names:
        path = HERE / f"{name}.ipynb"
        nbformat.write(run(path), path)
        print(path)
    for name, number in SHOWN.items():
        shown = pictures(nbformat.read(HERE / f"{name}.ipynb", as_version=4))[number]
        target = HERE.parent / "docs" / "pictures" / f"gallery_{name}.png"
        target.write_bytes(small(base64.b64decode(shown.data["image/png"]), THUMBNAIL))


if __name__ == "__main__":
    main()
