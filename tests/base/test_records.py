from bdcc_jax import Status


def test_every_status_says_what_to_do():
    assert all(status.explanation for status in Status)
