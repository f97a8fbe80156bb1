"""A broker with Kafka's authorizer, for the commands of a module."""

from collections.abc import Iterator

import pytest

from trio_kafka.testing.kafka.threaded import Kafka, running_broker

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    with running_broker(SETTINGS) as kafka:
        yield kafka
