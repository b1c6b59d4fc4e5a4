import re
import stat
import subprocess
from pathlib import Path

import pytest

from bdcc_jax import Status, cli
from bdcc_jax.result import Result

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_is_code():
    assert len(PYTHON) >= 3


def test_every_status_is_explained():
    table = README.partition("| `status` | meaning |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [str(status) for status in Status]


def test_attributes_exist():
    table = README.partition("| attribute | meaning |")[2].partition("\n\n")[0]
    names = re.findall(r"`(\w+)(?:\(\))?`", "\n".join(re.findall(r"^\|(.*?)\|", table, re.M)))
    assert "labels" in names
    fields = set(Result.__dataclass_fields__)
    assert [name for name in names if name not in fields and not hasattr(Result, name)] == []


def test_command_line_is_up_to_date(capsys):
    block = README.partition("### Command line")[2]
    for command in ("solve", "batch", "verify", "info", "convert", "demo", "version"):
        assert f"bdcc-jax {command}" in block
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        listed = re.search(rf"^bdcc-jax {command}.*$", block, re.MULTILINE)[0]
        help_text = capsys.readouterr().out
        assert [flag for flag in re.findall(r"--[\w-]+", listed) if flag not in help_text] == []


def test_ci_runs_the_test_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    awk = re.search(r"command=\$\(awk '(.*?)' README\.md\)", script.read_text(), re.DOTALL)[1]
    found = subprocess.run(
        ["awk", awk, "README.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("python -m venv .venv && ")
    assert found.stdout.endswith(' && pip install -e ".[test]" && pytest\n')
