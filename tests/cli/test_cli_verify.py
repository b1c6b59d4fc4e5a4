"""``bdcc-jax solve --certificate`` and ``bdcc-jax verify``."""

import hashlib
import json
from fractions import Fraction
from math import inf

import pytest
from certificates import TWO_WHEELS, claimed
from families import wheel

import bdcc_jax
from bdcc_jax import cli
from bdcc_jax.cli.verify import _below, _exactly


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
    assert "rejected: of another instance" in capsys.readouterr().err


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


def signed_again(certificate):
    content = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**content, "digest": hashlib.sha256(text.encode()).hexdigest()}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "optimal\x1b[2J\x1b[Haccepted: everything is proven\n"),
        ("status", "optimal \u202e\ud800"),
        ("status", ["optimal"]),
        ("format", "\x1b]0;" + "x" * 10_000),
        ("objective", 1e308),
        ("lower_bound", 1e308),
        ("lower_bound", 10**400),
        ("tolerance", True),
        ("\x1b[2J", "\ud800"),
        ("proof", {"rule": "\x1b[2J\ud800"}),
        ("proof", {"rule": "lp", "rows": [], "\x1b[2J\ud800": 0}),
        ("instance", {"\ud800": "\x1b[2J"}),
        ("labels", ["\x1b[2J"] * 6),
    ],
)
def test_what_a_file_says_does_nothing_to_a_terminal(files, capsys, key, value):
    certificate = json.loads((files / "c.json").read_text())
    (files / "bad.json").write_text(json.dumps(signed_again({**certificate, key: value})))
    code = cli.main(["verify", str(files / "wheel.txt"), str(files / "bad.json"), "--strict"])
    out, err = capsys.readouterr()
    if key != "\x1b[2J":  # what nobody asks for is not looked at
        assert code == 1
        assert out == ""
        assert err.startswith("bdcc-jax: rejected: ")
        assert err.count("\n") == 1
    assert len(out + err) < 500
    assert all(c == "\n" or (c.isascii() and c.isprintable()) for c in out + err)


def test_the_gap_is_exact(tmp_path, capsys):
    graph = bdcc_jax.Graph(3, [(0, 1), (1, 2), (0, 2)], [0.1, 0.1, -0.3])
    bdcc_jax.write(graph, tmp_path / "g.txt")
    proof = {"rule": "lp", "rows": []}
    found = {"labels": [0, 0, 0], "objective": 0.0, "lower_bound": -0.3, "status": "gap"}
    certificate = {**bdcc_jax.solve(graph).certificate, **found, "proof": proof}
    (tmp_path / "c.json").write_text(json.dumps(signed_again(certificate)))
    assert cli.main(["verify", str(tmp_path / "g.txt"), str(tmp_path / "c.json")]) == 0
    assert "gap           0.3 (exactly 5404319552844595 / 2^54)\n" in capsys.readouterr().out
    assert _exactly(Fraction(2) ** 2000) == f"1.8e+308 (exactly {2**2000})"
    assert _below(-(Fraction(2) ** 2000)) == -inf
