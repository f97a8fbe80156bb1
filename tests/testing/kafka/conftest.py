"""A broker with one topic of three partitions."""

import pytest

from trio_kafka.testing.kafka.threaded import running_broker


@pytest.fixture
def kafka():
    with running_broker(topics={"orders": 3}) as kafka:
        yield kafka
