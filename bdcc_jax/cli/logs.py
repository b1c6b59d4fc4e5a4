"""``--log-level``: what the package logs, on standard error while a command runs."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.streams import Lenient

LEVELS = ("debug", "info", "warning", "error")


@contextmanager
def logged(level: str | None) -> Iterator[None]:
    """Inside the block, print what is logged at this level or above; nothing for None."""
    if level is None:
        yield
        return
    logger = logging.getLogger("bdcc_jax")
    handler = logging.StreamHandler(Lenient(sys.stderr))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
