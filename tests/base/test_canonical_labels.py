from bdcc_jax.base.labels import canonical_labels


def test_canonical_labels():
    assert canonical_labels(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
