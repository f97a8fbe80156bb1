"""A broker for the commands of a module, and a shell for them."""

from collections.abc import Iterator

import pytest

from tests.cli.kit import Shell
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    with running_broker() as kafka:
        yield kafka


@pytest.fixture
def shell(
    module_kafka: Kafka,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    return Shell(module_kafka, capsysbinary, monkeypatch)
