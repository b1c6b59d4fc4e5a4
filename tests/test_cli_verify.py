"""``bdcc-jax solve --certificate`` and ``bdcc-jax verify``."""

import json

import pytest
from certificates import TWO_WHEELS, claimed
from families import wheel

import bdcc_jax
from bdcc_jax import cli


@pytest.fixture
def files(tmp_path):
    bdcc_jax.write(wheel(5), tmp_path / "wheel.txt")
    bdcc_jax.write(TWO_WHEELS, tmp_path / "other.txt")
    solved = ["solve", str(tmp_path / "wheel.txt"), "--certificate", str(tmp_path / "c.json")]
    assert cli.main([*solved, "--quiet"]) == 0
    return tmp_path


def test_command_line(files, capsys):
    arguments = ["verify", str(files / "wheel.txt"), str(files / "c.json")]
    assert cli.main(arguments) == 0
    assert "accepted: everything is proven" in capsys.readouterr().out
    assert cli.main([*arguments, "--strict", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(["verify", str(files / "other.txt"), str(files / "c.json")]) == 1
    assert "rejected: the certificate is of another instance" in capsys.readouterr().err


def test_strict(monkeypatch, files, capsys):
    (files / "d.json").write_text(json.dumps(claimed(monkeypatch).certificate))
    arguments = ["verify", str(files / "other.txt"), str(files / "d.json")]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "rests on HiGHS' branch and bound, or on an\nearlier run" in out
    assert "\n  16 nodes and 28 edges: at least -6" in out
    assert cli.main([*arguments, "--strict"]) == 1
    assert "not everything is proven" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, '{"a": NaN}', "{}"])
def test_what_is_no_certificate(files, capsys, content):
    (files / "bad.json").write_text(content)
    try:
        code = cli.main(["verify", str(files / "wheel.txt"), str(files / "bad.json")])
    except SystemExit as error:
        code = error.code
    assert code in (1, 2)
    assert "certificate" in capsys.readouterr().err


def test_an_existing_certificate_is_kept(files, capsys):
    before = (files / "c.json").read_bytes()
    with pytest.raises(SystemExit):
        cli.main(["solve", str(files / "wheel.txt"), "--certificate", str(files / "c.json")])
    assert "exists" in capsys.readouterr().err
    assert (files / "c.json").read_bytes() == before
