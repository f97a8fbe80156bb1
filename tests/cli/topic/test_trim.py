"""`trio-kafka topic trim`."""

import json
import shlex

from tests.cli.kit import Shell
from trio_kafka.controls.values import Record


def offsets(shell: Shell) -> list[int]:
    return [row.offset for row in shell.kafka.records("trimmed")]


def test_records_before_an_offset_or_a_time_are_deleted(shell: Shell) -> None:
    shell.kafka.create_topic("trimmed")
    for number in range(5):
        shell.kafka.produce("trimmed", Record(value="v", timestamp_ms=1_000 * number))

    dry = shell.run("topic", "trim", "trimmed", "--before-offset", "2", "--dry-run")
    untouched = offsets(shell)
    shell.run("topic", "trim", "trimmed", "--before-offset", "2")
    by_offset = offsets(shell)
    shell.run("topic", "trim", "trimmed", "--before-time", "2500")
    by_time = offsets(shell)
    shell.run("topic", "trim", "trimmed", "--all")

    words, command = dry.decode().splitlines()
    assert words == "would delete records of trimmed-0 before offset 2"
    assert json.loads(shlex.split(command.partition(": ")[2])[-1])["partitions"] == [
        {"topic": "trimmed", "partition": 0, "offset": 2}
    ]
    assert untouched == [0, 1, 2, 3, 4]
    assert by_offset == [2, 3, 4]
    assert by_time == [3, 4]
    assert offsets(shell) == []


def test_offset_behind_the_end_is_refused(shell: Shell) -> None:
    shell.kafka.create_topic("short")

    assert "OFFSET_OUT_OF_RANGE" in shell.fail("topic", "trim", "short", "--before-offset", "9")
