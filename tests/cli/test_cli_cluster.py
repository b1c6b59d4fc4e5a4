"""bdcc-jax cluster: files in and out, and what is refused."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from bdcc_jax import cli

ROOT = Path(__file__).parents[2]
CSV = """unique_id_l,unique_id_r,match_probability
007,7,0.9
7,"Null, O'Hara",0.2
NA,007,
"""
CLUSTERS = {"007": 0, "7": 0, "Null, O'Hara": 1, "NA": 2}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(CSV)
    (tmp_path / "nodes.csv").write_text('unique_id\n007\n7\nNA\n"Null, O\'Hara"\nalone\n')
    return tmp_path


def run(*arguments):
    try:
        return cli.main(["cluster", *arguments])
    except SystemExit as leaving:
        return leaving.code


def read(path):
    if path.endswith(".parquet"):
        return pq.read_table(path)
    if path.endswith((".arrow", ".feather")):
        return feather.read_table(path)
    import csv

    with open(path, newline="") as file:
        rows = list(csv.reader(file, delimiter="\t" if path.endswith(".tsv") else ","))
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@pytest.mark.parametrize("target", ["a.csv", "a.tsv", "a.parquet", "a.arrow", "a.feather"])
def test_every_format_out(folder, target, capsys):
    assert run("pairs.csv", "-o", target) == 0
    captured = capsys.readouterr()
    assert "pairs.csv: 1 of 3 pairs have no score, and count 0" in captured.err
    assert "4 in 3 clusters" in captured.out
    table = read(target)
    assert table.column_names == ["unique_id", "cluster_id", "confidence"]
    found = zip(table["unique_id"].to_pylist(), table["cluster_id"].to_pylist(), strict=True)
    assert {name: int(label) for name, label in found}.keys() == CLUSTERS.keys()
    by = dict(zip(table["unique_id"].to_pylist(), table["cluster_id"].to_pylist(), strict=True))
    assert by["007"] == by["7"]
    assert len(set(map(int, by.values()))) == 3


@pytest.mark.parametrize(
    "source", ["a.parquet", "a.feather", "a.tsv", "a.csv.gz", "semicolons.csv"]
)
def test_every_format_in(folder, source, capsys):
    table = pa.table({"source": ["x", "y"], "target": ["y", "z"], "weight": [2.5, -1.0]})
    text = "source,target,weight\nx,y,2.5\ny,z,-1\n"
    if source.endswith("parquet"):
        pq.write_table(table, source)
    elif source.endswith("feather"):
        feather.write_feather(table, source)
    elif source.endswith("gz"):
        (folder / source).write_bytes(gzip.compress(text.encode()))
    else:
        (folder / source).write_text(text.replace(",", "\t" if source.endswith("tsv") else ";"))
    assert run(source, "-o", "out.csv", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    lines = (folder / "out.csv").read_text().replace('"', "").splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [["x", "0"], ["y", "0"], ["z", "1"]]


def test_columns_nodes_threshold_and_json(folder, capsys):
    assert run("pairs.csv", "--nodes", "nodes.csv", "-o", "out.csv", "--json", "--quiet") == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["records"], about["pairs"], about["clusters"]) == (5, 3, 4)
    assert about["status"] == "optimal"
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[-1] == '"alone",3,'
    # Above 0.9 nothing attracts.
    assert run("pairs.csv", "--threshold", "0.95", "--json", "--quiet") == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 4
    (folder / "named.csv").write_text("a,b,p\n1,2,0.9\n2,3,0.9\n1,3,0.01\n")
    named = ("named.csv", "--left", "a", "--right", "b", "--probability", "p")
    assert run(*named, "--json", "--quiet") == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 2


def test_one_per_dataset(folder, capsys):
    (folder / "linked.csv").write_text(
        "unique_id_l,unique_id_r,source_dataset_l,source_dataset_r,match_weight\n"
        "1,1,A,B,3\n1,2,A,B,2\n"
    )
    assert run("linked.csv", "--one-per-dataset", "-o", "out.csv", "--quiet") == 0
    lines = (folder / "out.csv").read_text().replace('"', "").splitlines()
    assert lines[0] == "source_dataset,unique_id,cluster_id,confidence"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["A", "1", "0"],
        ["B", "1", "0"],
        ["B", "2", "1"],
    ]


def test_standard_input(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert run("-", "-o", "out.csv") == 0
    assert "4 in 3 clusters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("pairs.csv -o taken.csv", "taken.csv exists; choose another name, or force"),
        ("pairs.csv -o pairs.csv --force", "pairs.csv is named twice"),
        ("pairs.csv -o out.docx", "out.docx: expected a name that ends in one of .csv"),
        ("pairs.csv -o out.parquet.gz", "(.csv and .tsv may be gzipped)"),
        ("pairs.docx", "pairs.docx: expected a name that ends in one of .csv"),
        ("absent.csv", "absent.csv: No such file or directory"),
        ("absent/a.csv -o absent/b.csv", "there is no folder absent"),
        ("empty.csv", "empty.csv: the file is empty; expected a header"),
        ("headless.csv", "no columns with the ids of the two records: the table has ['a', 'b'"),
        ("broken.csv", "broken.csv: CSV parse error"),
        ("broken.parquet", "broken.parquet: not a readable parquet file"),
        ("words.csv", "column 'weight' must hold numbers"),
        ("pairs.csv --left a", "left and right go together"),
        ("pairs.csv --threshold 2", "threshold must be a probability strictly between 0 and 1"),
        ("pairs.csv --threshold x", "argument --threshold: invalid float value: 'x'"),
        ("pairs.csv --nodes absent.csv", "absent.csv: No such file or directory"),
        ("pairs.csv --one-per-dataset", "one_per_dataset needs columns"),
    ],
)
def test_refused(folder, capsys, arguments, message):
    for name, text in {
        "taken.csv": "precious",
        "empty.csv": "\n",
        "headless.csv": "a,b,0.9\nb,c,0.1\n",
        "broken.csv": "source,target,weight\na,b,1\nc\n",
        "broken.parquet": "PAR1",
        "words.csv": "source,target,weight\na,b,high\n",
        "pairs.docx": "",
    }.items():
        (folder / name).write_text(text)
    before = sorted(folder.iterdir())
    assert run(*arguments.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    assert (folder / "taken.csv").read_text() == "precious"


def test_a_process(folder):
    """From the outside, with everything that is printed where it belongs."""
    command = [sys.executable, "-m", "bdcc_jax", "cluster", "-", "-o", "out.parquet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, input=CSV, capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "status")
    assert "standard input: 1 of 3 pairs have no score" in done.stderr
    assert pq.read_table("out.parquet").num_rows == 4
