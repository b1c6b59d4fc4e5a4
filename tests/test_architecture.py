"""The order of the folders in docs/architecture.md holds: nobody imports what comes later."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "bdcc_jax"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ORDER = re.findall(r"^\d+\. `(\w+)`", PAGE, re.MULTILINE)


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


@cache
def imports_of(name):
    """All modules of the package that a module imports, wherever in its text."""
    path, found = MODULES[name], set()
    parents = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) + 1 - node.level] if node.level else ()
            source = ".".join([*start, *([node.module] if node.module else [])])
            members = {f"{source}.{alias.name}" for alias in node.names}
            # What is no module is a name in the module that it is taken from.
            found |= {member if member in MODULES else source for member in members}
    return {module for module in found if module.partition(".")[0] == PACKAGE} - {name}


def place(module):
    """The folder or the module at the top that this is in; the package itself is its __init__."""
    return [*module.split("."), "__init__"][1]


def test_modules_import_only_what_comes_before_them():
    rank = {place: number for number, place in enumerate(ORDER)}
    rank["__init__"] = rank["cli"] - 0.5  # the package itself may import all but the command line
    wrong = [
        f"{name} imports {module}"
        for name in MODULES
        for module in imports_of(name)
        if module not in MODULES or rank[place(module)] > rank[place(name)]
    ]
    assert not wrong


def test_nothing_but_the_command_line_imports_the_package_as_a_whole():
    importers = {place(name) for name in MODULES if PACKAGE in imports_of(name)}
    assert importers <= {"cli", "__main__"}


def test_no_module_imports_its_importer():
    graph = {name: imports_of(name) for name in MODULES if name != PACKAGE}
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the modules


def test_the_page_lists_every_folder_and_module_at_the_top():
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) == {place(name) for name in MODULES} - {"__init__"}
    assert len(list((ROOT / PACKAGE).glob("*.py"))) <= 16


def test_files_that_the_page_names_are_there():
    for name in re.findall(r"`((?:bdcc_jax|tests|docs)/[\w/.]*)`", PAGE):
        assert (ROOT / name).exists(), name


def test_tests_do_not_import_each_other():
    """Nor themselves, nor from a string, in a child: what they share is no test."""
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?:^|[;\"' ])(?:import|from) (test_\w+)", text, re.MULTILINE), path
