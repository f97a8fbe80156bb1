"""`trio-kafka topic offsets`."""

import json

from tests.cli.kit import Shell
from trio_kafka.controls.values import Record


def test_offsets_of_ends_and_of_a_time_are_shown(shell: Shell) -> None:
    shell.kafka.create_topic("measured", partitions=2)
    for number in range(3):
        shell.kafka.produce("measured", Record(value="v", partition=0, timestamp_ms=1_000 * number))

    table = shell.run("topic", "offsets", "measured").decode().splitlines()
    at_time = json.loads(shell.run("topic", "offsets", "measured", "--time", "1500", "--json"))

    assert table[1].split() == ["measured", "0", "0", "3", "3"]
    assert [row["offset"] for row in at_time["offsets"]] == [2, -1]
