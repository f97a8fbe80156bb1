"""One broker for the tests of each command: a transaction that is open, one that hangs, one at
rest.
"""

from collections.abc import Iterator

import pytest

from tests.cli.txn.kit import begin, forget
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture(scope="module")  # an open transaction times out after a minute
def kafka() -> Iterator[Kafka]:
    with running_broker() as kafka:
        kafka.create_topic("orders", partitions=2)
        kafka.create_topic("lost")
        begin(kafka, "open", "orders")
        begin(kafka, "gone", "lost")
        forget(kafka, "gone")
        yield kafka
