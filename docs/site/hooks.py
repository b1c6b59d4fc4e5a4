"""What MkDocs is told besides mkdocs.yml: pages from outside of docs/, navigation, and reference.

The pages read well on a repository's page, where links are relative to the file; this maps them to
the site. The navigation is that of docs/README.md, section by section.
"""

import logging
import re
from html import unescape
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
LOG = logging.getLogger("mkdocs.hooks.site")

OUTSIDE = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "benchmarks/RESULTS.md": "figures.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages that lie elsewhere in the repository, and what they are called on the site."""

COPIED = ["benchmarks/figures/*.png", "notebooks/*.ipynb"]
"""Other files that pages show or link to, at the same place on the site."""

REFERENCE = {
    "solving": (
        "Solving",
        "bdcc_jax.solve.solve",
        "bdcc_jax.batch.solve_batch",
        "bdcc_jax.SuspiciousWeights",
    ),
    "graph": ("Graph", "bdcc_jax.Graph"),
    "options": ("Options", "bdcc_jax.Options", "bdcc_jax.PDLPOptions"),
    "result": ("Result", *(f"bdcc_jax.{n}" for n in ("Result", "Status", "Round", "Progress"))),
    "certificates": ("Certificates", *(f"bdcc_jax.verify.{n}" for n in ("verify", "Verdict"))),
    "io": ("Files", *(f"bdcc_jax.io.{n}" for n in ("read", "write", "read_labels"))),
    "graphs": ("Graphs", "bdcc_jax.graphs", "bdcc_jax.weights.weights_from_probabilities"),
    "image": ("Images", "bdcc_jax.image"),
    "layers": ("Layers", "bdcc_jax.layers"),
    "torch": ("Layers for PyTorch", "bdcc_jax.layers.torch"),
    "estimator": ("scikit-learn", "bdcc_jax.estimator.CorrelationClustering"),
    "metrics": ("Metrics", "bdcc_jax.metrics"),
    "report": ("Report", "bdcc_jax.report.html_report"),
    "tables": ("Tables of pairs", "bdcc_jax.tables"),
    "volumes": ("Volumes", "bdcc_jax.volumes"),
    "large": ("Large graphs", "bdcc_jax.large"),
}
"""Pages of the reference: their titles, and what is shown from its docstrings."""

LINK = re.compile(r"(\]\(|(?:src|href)=\")([^)#\"\s]+)(#[^)\"\s]*)?([)\"])")


def on_config(config: Any) -> Any:
    """Take the navigation from docs/README.md."""
    sections: list[Any] = [{"Home": ["index.md", "contents.md"]}]
    pages: list[str] = []
    for line in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            pages = []
            sections.append({line[3:].strip(): pages})
        pages += [_on_site(f"docs/{target}") for target in re.findall(r"\]\(([^)#]+)\)", line)]
    notebooks = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    sections.append({"Notebooks": [f"notebooks/{name}" for name in notebooks]})
    sections.append({"Reference": [f"reference/{name}.md" for name in REFERENCE]})
    config.nav = sections
    return config


@event_priority(100)  # before the plugin that makes pages of notebooks
def on_files(files: Files, config: Any) -> Files:
    """Add what lies outside of docs/, and the pages of the reference."""
    for source, name in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_mapped(text, source, name)))
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File(name, str(ROOT), config.site_dir, use_directory_urls=False))
    for name, (title, *objects) in REFERENCE.items():
        shown = "\n\n".join(f"::: {each}{_whole(each)}" for each in objects)
        text = f"# {title}\n\n{shown}\n"
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Map the links of the pages in docs/."""
    name = page.file.src_uri
    outside = name in OUTSIDE.values() or name.startswith(("reference/", "notebooks/"))
    return markdown if outside else _mapped(markdown, f"docs/{name}", name)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Map the links of notebooks to the pages in docs/."""
    if not page.file.src_uri.startswith("notebooks/"):
        return output
    return re.sub(r'href="\.\./docs/([\w-]+)\.md', r'href="../\1.html', output)


def on_post_build(config: Any) -> None:
    """Warn of every link on the site that leads nowhere: MkDocs looks at those in Markdown only."""
    site = Path(config.site_dir)
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for target in re.findall(
            r'(?:href|src)="([^"#?:]+)[#?"]', path.read_text(encoding="utf-8")
        ):
            if not (path.parent / unescape(target)).exists():
                LOG.warning(f"{path.relative_to(site)}: {target} is not there")


def _whole(name: str) -> str:
    """Options for a module: what is in it, without a heading of its own."""
    last = name.rpartition(".")[2]
    if name.count(".") != 1 or last[0].isupper():
        return ""
    return "\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false"


def _on_site(path: str) -> str | None:
    """Where a file of the repository is on the site, None if it is not there."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    path = "/".join(parts)
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if any(Path(path).match(pattern) for pattern in COPIED):
        return path
    return "gallery.md" if path == "notebooks" else None


def _mapped(text: str, source: str, name: str) -> str:
    """The text of a page with links as they are on the site; to the code there are none."""
    folder = source.rpartition("/")[0]
    up = "../" * name.count("/")

    def mapped(link: re.Match[str]) -> str:
        before, target, anchor, after = link.groups()
        if re.match(r"[a-z]+:", target):
            return link[0]
        there = _on_site(f"{folder}/{target}")
        return link[0] if there is None else f"{before}{up}{there}{anchor or ''}{after}"

    text = LINK.sub(mapped, text)
    return re.sub(
        r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)", lambda link: _only_there(link, folder), text
    )


def _only_there(link: re.Match[str], folder: str) -> str:
    """The words alone of a link to a file that only the repository has."""
    words, target = link[1], link[2].partition("#")[0]
    if not target or re.match(r"[a-z]+:", target):
        return link[0]
    elsewhere = not target.endswith((".md", ".ipynb", ".png", ".jpg"))
    return f"{words} (`{Path(target).name}`)" if elsewhere else link[0]
