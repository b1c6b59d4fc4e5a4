"""BLAS with one thread: its own threads are in the way of ours, and how many change last bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    """All that are loaded; looking for them takes milliseconds, so it waits until it is needed."""
    import scipy.linalg.cython_lapack  # noqa: F401  (numba's; what is not loaded cannot be told)

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside the block BLAS and LAPACK of this process do everything in the thread that calls.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    {1}
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield
