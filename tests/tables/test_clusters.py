"""bdcc_jax.tables.cluster: every kind of table, the columns, and what is refused."""

import itertools
import subprocess
import sys
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdcc_jax.tables import cluster

PAIRS = {
    "unique_id_l": ["ann", "ann", "bob", "dan"],
    "unique_id_r": ["anne", "bob", "anne", "dave"],
    "match_probability": [0.95, 0.6, 0.02, 0.3],
    "surname_l": ["x", "x", "y", "z"],
}
CLUSTERS = {"ann": 0, "anne": 0, "bob": 1, "dan": 2, "dave": 3}


def relation(data):
    return duckdb.connect().from_arrow(pa.table(data))


KINDS = {
    "pandas": (pd.DataFrame, pd.DataFrame),
    "polars": (pl.DataFrame, pl.DataFrame),
    "lazy": (pl.LazyFrame, pl.LazyFrame),
    "pyarrow": (pa.table, pa.Table),
    "reader": (lambda data: pa.table(data).to_reader(), pa.Table),
    "duckdb": (relation, duckdb.DuckDBPyRelation),
}


def rows(table):
    """As columns of Python, whatever kind of table it is."""
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    return pa.table(table).to_pydict()


def found(table):
    columns = rows(table)
    return dict(zip(columns["unique_id"], columns["cluster_id"], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_table_that_came_in_goes_out(kind):
    make, expected = KINDS[kind]
    clusters = cluster(make(PAIRS))
    assert type(clusters.table) is expected
    columns = rows(clusters.table)
    assert list(columns) == ["unique_id", "cluster_id", "confidence"]
    assert {x: CLUSTERS[x] for x in columns["unique_id"]} == CLUSTERS
    grouped = found(clusters.table)
    assert grouped["ann"] == grouped["anne"]
    assert len(set(grouped.values())) == 4
    assert clusters.result.status == "optimal"
    assert (clusters.pairs, clusters.result.graph.n) == (4, 5)
    assert "5 in 4 clusters" in clusters.summary()


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_are_kept_in_their_order(kind):
    make, _ = KINDS[kind]
    everybody = ["zoe", "dave", "dan", "bob", "anne", "ann"]
    other = {"name": ["?"] * 6, "unique_id": everybody}
    for nodes in (everybody, np.array(everybody), make({"unique_id": everybody}), make(other)):
        table = rows(cluster(make(PAIRS), nodes=nodes).table)
        assert table["unique_id"] == everybody
        assert table["cluster_id"] == [0, 1, 2, 3, 4, 4]
        assert table["confidence"][0] is None  # nothing is known of her
        assert all(0.5 < sure < 1 for sure in table["confidence"][1:])


def test_columns_of_nodes():
    nodes = pa.chunked_array([["ann", "anne"], ["bob", "dan", "dave"]])
    for column in (nodes, pl.Series(nodes.to_pylist()), pd.Series(nodes.to_pylist())):
        assert found(cluster(pa.table(PAIRS), nodes=column).table) == CLUSTERS


def test_the_clusters_are_the_best_of_all():
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(7), 2))
    for _ in range(5):
        w = rng.normal(size=len(pairs))
        left, right = zip(*pairs, strict=True)
        table = pa.table({"source": left, "target": right, "weight": w})
        clusters = cluster(table, threshold=0.6)
        shifted = w - np.log(0.6 / 0.4)
        costs = [
            sum(x for x, (a, b) in zip(shifted, pairs, strict=True) if labels[a] != labels[b])
            for labels in itertools.product(range(7), repeat=7)
            if all(labels[i] <= i for i in range(7))
        ]
        assert clusters.result.objective == pytest.approx(min(costs))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("source", "target", "weight"), {}),
        (("a", "b", "c"), {"left": "a", "right": "b", "weight": "c"}),
        (("person_l", "person_r", "weight"), {"record_id": "person"}),
        (("a", "b", "match_weight"), {"left": "a", "right": "b"}),
    ],
)
def test_columns_are_recognised_or_named(columns, said):
    values = (["x", "y"], ["y", "z"], [3.0, -1.0])
    table = cluster(pa.table(dict(zip(columns, values, strict=True))), **said).table
    names = ["person" if said.get("record_id") else "unique_id", "cluster_id", "confidence"]
    assert table.column_names == names
    assert table["cluster_id"].to_pylist() == [0, 0, 1]


def test_a_match_weight_comes_before_a_probability():
    """Both are splink's, but a probability of 1 - 1e-20 is 1."""
    pairs = {"source": [1], "target": [2], "match_probability": [0.1], "match_weight": [2.0]}
    assert cluster(pa.table(pairs)).result.graph.weights == pytest.approx([2 * np.log(2)])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1, 2], [2, 3], [1, 2, 3]),
        ([1.0, 2.0], [2.0, 3.0], [1, 2, 3]),
        (np.array([1, 2**63], np.uint64), np.array([2, 3], np.uint64), ["1", str(2**63), "2", "3"]),
        (["007", "7"], ["8", "9"], ["007", "7", "8", "9"]),
        ([1, 2], ["2", "a"], ["1", "2", "a"]),
        (pa.array(["p", "q"]).dictionary_encode(), ["q", "r"], ["p", "q", "r"]),
    ],
)
def test_ids_are_text_or_numbers(left, right, expected):
    pairs = pa.table({"source": left, "target": right, "weight": [1.0, 1.0]})
    assert cluster(pairs).table["unique_id"].to_pylist() == expected


def test_a_record_is_a_dataset_and_an_id():
    pairs = pa.table(
        {
            "source_dataset_l": ["A", "A", "B"],
            "unique_id_l": [1, 1, 1],
            "source_dataset_r": ["B", "B", "B"],
            "unique_id_r": [1, 2, 2],
            "match_weight": [3.0, 2.0, 1.0],
        }
    )
    table = cluster(pairs).table
    assert table.column_names[:2] == ["source_dataset", "unique_id"]
    assert table["source_dataset"].to_pylist() == ["A", "B", "B"]
    assert table["unique_id"].to_pylist() == [1, 1, 2]
    assert table["cluster_id"].to_pylist() == [0, 0, 0]
    single = cluster(pairs, one_per_dataset=True).table
    assert single["cluster_id"].to_pylist() == [0, 0, 1]
    # Joining is not possible, and moving 2 from B to A's cluster neither: A's record may move.
    assert single["confidence"].to_pylist() == pytest.approx([2 / 3] * 3)
    nodes = pa.table({"source_dataset": ["B", "A", "B", "C"], "unique_id": [1, 1, 2, 1]})
    kept = cluster(pairs, nodes=nodes, one_per_dataset=True).table
    assert kept["cluster_id"].to_pylist() == [0, 0, 1, 2]


def warned(pairs, message):
    with pytest.warns(UserWarning, match=message) as caught:
        clusters = cluster(pa.table(pairs))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return clusters


def test_pairs_without_a_score_count_0():
    pairs = {"source": ["a", "b"], "target": ["b", "c"], "match_weight": [1.0, None]}
    clusters = warned(pairs, r"1 of 2 pairs have no score, and count 0 \(the first is row 1")
    assert found(clusters.table) == {"a": 0, "b": 0, "c": 1}


def test_pairs_that_are_listed_again_count_once():
    pairs = {"source": list("abbc"), "target": list("bacb"), "weight": [1.0, 3.0, 1.0, 1.0]}
    clusters = warned(pairs, "2 rows name a pair again, in this or the other direction")
    assert clusters.result.graph.weights.tolist() == [2.0, 1.0]


def test_pairs_of_a_record_with_itself_say_nothing():
    pairs = {"source": ["a", "b"], "target": ["b", "b"], "weight": [-1.0, 5.0]}
    clusters = warned(pairs, r"1 of 2 pairs are of a record with itself.*row 1")
    assert found(clusters.table) == {"a": 0, "b": 1}


def test_weights_that_look_like_probabilities():
    pairs = {"source": ["a", "b"], "target": ["b", "c"], "weight": [0.9, 0.2]}
    warned(pairs, "column 'weight' .*probability='weight'")


@pytest.mark.parametrize(
    ("change", "said", "message"),
    [
        (
            {"unique_id_l": None},
            {},
            r"no columns with the ids of the two records.*left= and right=",
        ),
        ({"match_probability": None}, {}, "no column with scores: the table has .*expected one of"),
        ({}, {"left": "a"}, "left and right go together"),
        ({}, {"left": "a", "right": "b"}, "left: the table has no column 'a'; it has"),
        ({}, {"weight": "w"}, "weight: the table has no column 'w'"),
        ({}, {"weight": "a", "probability": "b"}, "give one of .*, not weight and probability"),
        ({}, {"one_per_dataset": True}, "one_per_dataset needs columns source_dataset_l"),
        ({}, {"threshold": 0}, "threshold must be a probability strictly between 0 and 1: 0"),
        ({}, {"nodes": ["ann", "anne"]}, "row 1 .* names record 'bob', .* not among the 2"),
        ({}, {"nodes": ["ann", "bob", "ann"]}, "nodes: record 'ann' is listed twice"),
        ({}, {"nodes": pa.table({"a": [1], "b": [2]})}, "nodes: the table has no column 'unique"),
        ({}, {"nodes": [object()]}, "not a column of text or of numbers"),
        ({"unique_id_l": ["a", None, "b", "c"]}, {}, "'unique_id' has no id in row 1"),
        ({"unique_id_l": [1.5, 1, 2, 3]}, {}, "must hold text or whole numbers: row 0 is 1.5"),
        ({"unique_id_l": [True] * 4}, {}, "must hold text or whole numbers, not bool"),
        ({"match_probability": [0.1, 0.2, 7.0, 0]}, {}, "must hold probabilities.* Row 2"),
        ({}, {"gap": -1}, "gap must be"),
    ],
)
def test_refused(change, said, message):
    pairs = {name: value for name, value in (PAIRS | change).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        cluster(pa.table(pairs), **said)


def test_refused_kinds():
    with pytest.raises(TypeError, match=r"pairs must be a table of pandas, polars.* not 'list'"):
        cluster([("a", "b", 1.0)])
    with pytest.raises(ValueError, match="not what a table can hold"):
        cluster(pd.DataFrame({"source": ["a", 1], "target": ["b", "c"], "weight": [1.0, 2.0]}))
    linked = {f"source_dataset_{end}": ["A"] for end in "lr"} | {"source": [1], "target": [2]}
    with pytest.raises(ValueError, match="nodes must be a table here"):
        cluster(pa.table(linked | {"weight": [1.0]}), nodes=[1, 2])


def test_no_pairs():
    empty = pa.table({"source": [], "target": [], "weight": []})
    with pytest.raises(ValueError, match="there are no records"):
        cluster(empty)
    assert cluster(empty, nodes=["a", "b"]).table["cluster_id"].to_pylist() == [0, 1]


def test_files(tmp_path):
    table = pa.table(PAIRS)
    pq.write_table(table, tmp_path / "pairs.parquet")
    (tmp_path / "parts").mkdir()
    for i in range(2):
        pq.write_table(table.slice(2 * i, 2), tmp_path / "parts" / f"{i}.parquet")
    for name in ("pairs.parquet", "parts"):
        clusters = cluster(tmp_path / name)
        assert len(set(found(clusters.table).values())) == 4
        assert list(clusters.seconds) == [
            "reading pairs",
            "reading nodes",
            "numbering records",
            "solving",
            "confidences",
        ]


def test_what_is_printed_is_short_and_no_bound_is_below_0():
    clusters = cluster(
        pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [2.0, -3.0]})
    )
    assert repr(clusters) == "Clusters(optimal, 3 records in 2 clusters)"
    assert clusters.result.disagreement == 0.0
    rounded = replace(clusters.result, lower_bound=clusters.result.lower_bound - 1e-15)
    assert "at least 0 with any" in replace(clusters, result=rounded).summary()


def test_progress(capsys):
    cluster(pa.table(PAIRS), progress="plain")
    assert "lower bound" in capsys.readouterr().err
    cluster(pa.table(PAIRS))
    assert capsys.readouterr().err == ""


def test_without_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None; import bdcc_jax, pandas as pd;"
        "df = pd.DataFrame({'source': ['a'], 'target': ['b'], 'weight': [1.0]});"
        "print(bdcc_jax.solve(df).labels.tolist());"
        "bdcc_jax.tables.cluster('pairs.parquet')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[0, 0]\n"
    assert 'ImportError: tables need pyarrow: pip install ".[tables]"' in done.stderr
