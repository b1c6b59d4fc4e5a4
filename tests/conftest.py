import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def sigint_is_not_ignored():
    """As it is, here and in children, where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
