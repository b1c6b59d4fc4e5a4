import shutil
import subprocess

import pytest

from bdcc_jax import cli

BASH, FISH = shutil.which("bash"), shutil.which("fish")


def script(shell, capsys):
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(BASH is None, reason="no bash here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["ver"], {"verify", "version"}),
        (["solve", "--time"], {"--time-limit"}),
        (["solve", "--log-level", "de"], {"debug"}),
        (["batch", "x", "--time"], {"--time-limit", "--time-limit-each"}),
        (["solve", "some"], {"some file.txt"}),
    ],
)
def test_bash(line, expected, capsys, tmp_path):
    (tmp_path / "some file.txt").touch()
    words = " ".join(f"'{word}'" for word in ["bdcc-jax", *line])
    asked = (
        f"COMP_WORDS=({words}); COMP_CWORD={len(line)}; _bdcc_jax; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    source = f"{script('bash', capsys)}\n{asked}"
    done = subprocess.run(
        [BASH, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.splitlines()) == expected


def test_zsh_takes_the_script_of_bash(capsys):
    bash = script("bash", capsys)
    assert script("zsh", capsys) == "autoload -U +X bashcompinit && bashcompinit\n" + bash


def test_fish(capsys):
    lines = script("fish", capsys).splitlines()
    assert "complete -c bdcc-jax -n __fish_use_subcommand -a solve" in lines
    limit = next(line for line in lines if "from solve'" in line and "-l time-limit" in line)
    assert limit.endswith("-d 'stop after this time'")
    if FISH is not None:
        subprocess.run([FISH, "--no-execute"], input="\n".join(lines), text=True, check=True)


def test_another_shell(capsys):
    with pytest.raises(SystemExit):
        cli.main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
