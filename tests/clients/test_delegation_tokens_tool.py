"""Kafka's own kafka-delegation-tokens.sh, and Java's clients that log in by a token."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.broker.sasl import LISTENER, PACKAGE
from tests.broker.tokens import TOKENS
from tests.clients.kafka_tools.jvm import Done, ask_tool
from tests.installed import skipped_if_missing
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOOL: Final = "org.apache.kafka.tools.DelegationTokenCommand"
PLAIN: Final = f'{PACKAGE}.plain.PlainLoginModule required username="{{}}" password="{{}}";'
TOKEN: Final = (
    f'{PACKAGE}.scram.ScramLoginModule required username="{{}}" password="{{}}" tokenauth="true";'
)


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running_broker(TOKENS, topics=["orders"]) as kafka:
        yield kafka


class Java:
    """Kafka's tools, which log in by a file."""

    def __init__(self, kafka: Kafka, directory: Path) -> None:
        self._bootstrap = str(kafka.broker.endpoints[LISTENER])
        self._file = directory / "client.properties"

    def log_in(self, mechanism: str, line: str) -> None:
        self._file.write_text(
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={mechanism}\nsasl.jaas.config={line}\n"
        )

    def run(self, tool: str, *arguments: str) -> Done:
        words = ("--bootstrap-server", self._bootstrap, "--command-config", str(self._file))
        with skipped_if_missing():
            return ask_tool(tool, *words, *arguments)


def test_a_token_of_kafkas_tool_is_renewed_logs_java_in_and_ends(
    kafka: Kafka, tmp_path: Path
) -> None:
    java = Java(kafka, tmp_path)
    java.log_in("PLAIN", PLAIN.format("ann", "secret"))

    words = ("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    created = java.run(TOOL, *words)
    assert created.status == 0, created
    row = re.search(r"^(\S{22}) +(\S{88}) +(\S+) +(\S+) +\[(\S+)\]", created.printed, re.MULTILINE)
    assert row is not None, created
    token_id, password = row[1], row[2]
    assert row.groups()[2:] == ("User:ann", "User:ann", "User:bob")

    java.log_in("PLAIN", PLAIN.format("bob", "pw"))
    renewed = java.run(TOOL, "--renew", "--renew-time-period", "-1", "--hmac", password)
    assert "Completed renew operation. New expiry date" in renewed.printed
    described = java.run(TOOL, "--describe", "--owner-principal", "User:ann")
    assert "Total number of tokens : 1" in described.printed
    assert token_id in described.printed

    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        java.log_in(mechanism, TOKEN.format(token_id, password))
        assert "orders" in java.run("TopicCommand", "--list").printed
    refused = java.run(TOOL, *words)
    assert refused.status == 1
    assert "DelegationTokenDisabledException" not in refused.errors
    assert "Delegation Token requests are not allowed" in refused.errors

    java.log_in("PLAIN", PLAIN.format("ann", "secret"))
    expired = java.run(TOOL, "--expire", "--expiry-time-period", "-1", "--hmac", password)
    assert "Completed expire operation. New expiry date" in expired.printed
    java.log_in("SCRAM-SHA-512", TOKEN.format(token_id, password))
    assert "Authentication failed" in java.run("TopicCommand", "--list").printed
