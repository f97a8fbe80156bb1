"""`trio-kafka partition list`."""

import json

from tests.cli.kit import Shell
from tests.cli.partition.conftest import Disks


def test_replicas_are_shown_with_their_directory_and_size(shell: Shell, disks: Disks) -> None:
    here, _ = disks.new_topic("shown", megabytes=1)

    (row,) = json.loads(shell.run("partition", "list", "shown", "--json"))["replicas"]
    head, line = shell.run("partition", "list", "shown").decode().splitlines()

    assert (row["topic"], row["partition"], row["broker"]) == ("shown", 0, 1)
    assert (row["directory"], row["is_future"]) == (here, False)
    assert row["bytes"] > 1_000_000
    assert head.split() == ["topic", "partition", "broker", "bytes", "directory", "state"]
    assert line.split() == ["shown", "0", "1", str(row["bytes"]), here, "-"]


def test_replica_that_moves_is_shown_in_both_directories(shell: Shell, disks: Disks) -> None:
    here, there = disks.new_topic("moves", megabytes=1)
    disks.limit(1)
    shell.run("partition", "move", "moves", "--to", there)

    lines = shell.run("partition", "list", "--moving").decode().splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [["moves", "0", "1"]] * 2
    assert lines[0].endswith(f"{here}       moves away")
    assert f"{there}       moves here, " in lines[1]

    shell.run("partition", "move", "moves", "--cancel")
    assert json.loads(shell.run("partition", "list", "--moving", "--json"))["replicas"] == []
