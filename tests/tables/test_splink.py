"""splink's own output, as it is."""

import numpy as np
import pyarrow as pa
import pytest

from bdcc_jax.metrics import adjusted_rand_index
from bdcc_jax.tables import cluster
from benchmarks.people import people

splink = pytest.importorskip("splink", minversion="5.0")


@pytest.fixture(scope="module")
def predicted():
    from benchmarks.linkage import predictions

    made = people(120, seed=1)
    return made, predictions(made, ("first_name", "surname", "dob", "phone"))


def test_splinks_own_table(predicted):
    made, pairs = predicted
    ids = made.columns["unique_id"]
    clusters = cluster(pairs, nodes=ids)
    assert isinstance(clusters.table, pa.Table)
    assert clusters.table["unique_id"].to_pylist() == ids
    assert clusters.result.status == "optimal"
    labels = np.asarray(clusters.table["cluster_id"])
    assert adjusted_rand_index(made.truth, labels) > 0.9
    # The other ways out of splink say the same.
    for table in (pairs.as_duckdbpyrelation(), pairs.as_pandas_dataframe()):
        again = cluster(table, nodes=ids)
        assert again.result.objective == clusters.result.objective


def test_its_parquet_and_csv(predicted, tmp_path):
    _, pairs = predicted
    here = cluster(pairs).result
    for write, name in ((pairs.to_parquet, "pairs.parquet"), (pairs.to_csv, "pairs.csv")):
        write(str(tmp_path / name))
        there = cluster(tmp_path / name).result
        assert there.graph.n == here.graph.n
        assert there.objective == pytest.approx(here.objective)
