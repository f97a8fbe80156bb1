"""Clients of transactions are told what Apache Kafka 4.4 tells them, field by field."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transaction_conversation import RECORD, SETTINGS, answers_of, converse
from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.testing.processes import broker_process

pytestmark = pytest.mark.slow

# Answered in another way on purpose, by what is asked.
DELIBERATE = {
    "no partition by a broker, True v5": "a topic without partitions stays in the answer",
    "offsets-4: no partition v4": "a topic without partitions stays in the answer",
    "offsets-5: no partition v5": "a topic without partitions stays in the answer",
    "describe twice v0": "an id that is named twice is described once",
}


def differences(lines: list[str]) -> list[str]:
    """Return what was answered in another way than Apache Kafka does."""
    recorded = RECORD.read_text().splitlines()
    assert [line.partition(" => ")[0] for line in lines] == [
        line.partition(" => ")[0] for line in recorded
    ]
    return [
        f"{line}\n   Kafka: {kafkas}"
        for line, kafkas in zip(lines, recorded, strict=True)
        if (line != kafkas) is not (line.partition(" => ")[0] in DELIBERATE)
    ]


async def test_clients_of_transactions_get_the_answers_of_apache_kafka(
    autojump_clock: MockClock,
) -> None:
    async with broker(SETTINGS) as served:
        lines = await converse(served.ask)

    assert differences(lines) == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_recorded_answers_equal_those_of_a_running_apache_kafka(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    with broker_process(tmp_path, *settings, command=apache_kafka_command) as kafka:
        lines = trio.run(answers_of, kafka.address)

    assert lines == RECORD.read_text().splitlines()
