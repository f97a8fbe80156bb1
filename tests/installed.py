"""Programs that a test needs: where one is missing, the test is skipped and says how to get it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.clients.build import MissingError, need

APACHE_KAFKA = ("java", "mvn", "flock")  # what runs Apache Kafka and its tools


@contextmanager
def skipped_if_missing() -> Iterator[None]:
    """Skip the test if what runs inside says that a program is missing."""
    try:
        yield
    except MissingError as missing:
        pytest.skip(str(missing))


def need_or_skip(*programs: str) -> None:
    """Skip the test unless all of the programs are on the path."""
    with skipped_if_missing():
        need(*programs)
