"""Kafka's own kafka-configs.sh: users of SCRAM, by Java's clients of PLAIN and SCRAM."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.broker.sasl import LISTENER, PACKAGE, SASL
from tests.clients.kafka_tools.jvm import ask_tool
from tests.installed import skipped_if_missing
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOOL: Final = "kafka.admin.ConfigCommand"
LINES: Final = {
    "PLAIN": f'{PACKAGE}.plain.PlainLoginModule required username="ann" password="secret";',
    "SCRAM-SHA-512": f'{PACKAGE}.scram.ScramLoginModule required username="carol" password="pw1";',
}


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running_broker(SASL) as kafka:
        yield kafka


def run(kafka: Kafka, folder: Path, mechanism: str, *arguments: str) -> str:
    """Return what kafka-configs.sh prints about users; it must succeed."""
    file = folder / f"{mechanism}.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism={mechanism}\n"
        f"sasl.jaas.config={LINES[mechanism]}\n"
    )
    words = ("--bootstrap-server", str(kafka.broker.endpoints[LISTENER]), "--entity-type", "users")
    with skipped_if_missing():
        done = ask_tool(TOOL, *words, "--command-config", str(file), *arguments)
    assert done.status == 0, done
    return done.printed


def test_a_user_that_kafkas_tool_creates_logs_in_and_is_described_and_deleted(
    kafka: Kafka, tmp_path: Path
) -> None:
    carol = ("--entity-name", "carol")

    for new in ("SCRAM-SHA-256=[iterations=8192,password=other]", "SCRAM-SHA-512=[password=pw1]"):
        printed = run(kafka, tmp_path, "PLAIN", "--alter", *carol, "--add-config", new)
        assert "Completed updating config for user carol" in printed

    described = run(kafka, tmp_path, "SCRAM-SHA-512", "--describe", *carol)
    assert "SCRAM-SHA-256=iterations=8192" in described
    assert "SCRAM-SHA-512=iterations=4096" in described

    run(kafka, tmp_path, "SCRAM-SHA-512", "--alter", *carol, "--delete-config", "SCRAM-SHA-512")
    described = run(kafka, tmp_path, "PLAIN", "--describe", *carol)
    assert "SCRAM-SHA-512" not in described
