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
    assert words == "would delete records of trimmed-0 before offset 2, at most 2"
    assert json.loads(shlex.split(command.partition(": ")[2])[-1])["partitions"] == [
        {"topic": "trimmed", "partition": 0, "offset": 2}
    ]
    assert untouched == [0, 1, 2, 3, 4]
    assert by_offset == [2, 3, 4]
    assert by_time == [3, 4]
    assert offsets(shell) == []


def test_offset_behind_the_end_is_refused(shell: Shell) -> None:
    shell.kafka.create_topic("short")

    for option in ((), ("--dry-run",)):
        line = shell.fail("topic", "trim", "short", "--before-offset", "9", *option)
        assert "short-0: OFFSET_OUT_OF_RANGE: it ends at offset 0, before 9" in line


def test_records_that_are_gone_already_are_not_said_to_be_deleted(shell: Shell) -> None:
    shell.kafka.create_topic("young")
    shell.kafka.produce("young", b"x")

    line = shell.run("topic", "trim", "young", "--before-time", "1h").decode()

    assert line == "nothing to change: there are no records before that\n"
