"""Brokers with and without the compiled leaf, which the environment switches off."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.rows.registry import NotApplicableError
from trio_kafka.records.leaf import SWITCH, leaf


@contextmanager
def switched(*, on: bool) -> Iterator[None]:
    """Let brokers that start in the block use the leaf, or Python. NotApplicableError."""
    if on and leaf() is None:
        raise NotApplicableError("the compiled leaf is not installed: make leaf")
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "on" if on else "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before
