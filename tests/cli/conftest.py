import pytest

from bdcc_jax.cli.first_use import PARTS


@pytest.fixture(autouse=True, scope="session")
def loops_are_compiled():
    """As on any day but the first, of which the command says something; see test_first_use."""
    for compile_part in PARTS.values():
        compile_part()
