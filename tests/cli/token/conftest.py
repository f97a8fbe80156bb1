"""A broker with delegation tokens for the commands of a module, and users of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.tokens import TOKENS
from tests.cli.kit import Shell
from tests.cli.token.kit import Login
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    """A broker whose first listener is that of SASL."""
    listeners = ",".join(reversed(TOKENS["listeners"].split(",")))
    with running_broker({**TOKENS, "listeners": listeners}, topics=["orders"]) as kafka:
        yield kafka


@pytest.fixture
def ann(shell: Shell, tmp_path: Path) -> Login:
    return Login(shell, tmp_path)


@pytest.fixture
def bob(shell: Shell, tmp_path: Path) -> Login:
    return Login(shell, tmp_path, "bob")
