"""A topic with five records in two partitions, and a group that has read some of them."""

import pytest

from tests.cli.kit import Shell
from trio_kafka.controls.values import Record


@pytest.fixture
def group(shell: Shell) -> str:
    """The group: offset 1 of 3 in partition 0, 2 of 2 in partition 1."""
    if "read" not in shell.kafka.topics():
        shell.kafka.create_topic("read", partitions=2)
        for number in range(5):
            record = Record(value="v", partition=number // 3, timestamp_ms=1_000 * number)
            shell.kafka.produce("read", record)
    shell.run("group", "seek", "billing", "--to", "1", "-t", "read", "-p", "0")
    shell.run("group", "seek", "billing", "--to", "latest", "-t", "read", "-p", "1")
    return "billing"
