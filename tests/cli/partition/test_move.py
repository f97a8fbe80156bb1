"""`trio-kafka partition move`."""

import json
import shlex

from tests.cli.kit import Shell
from tests.cli.partition.conftest import Disks


def test_replica_moves_after_a_look_and_its_records_with_it(shell: Shell, disks: Disks) -> None:
    here, there = disks.new_topic("moved")
    shell.kafka.produce("moved", b"one")
    words = ("partition", "move", "moved", "--to", there)

    planned = json.loads(shell.run(*words, "--dry-run", "--json"))["changes"]
    assert disks.paths("moved") == [here]
    moved = disks.done(*words, "--wait", "30")

    assert moved.startswith(f"done: move moved-0 on broker 1 from {here} to {there}, ")
    assert disks.paths("moved") == [there]
    assert [record.value for record in shell.kafka.records("moved")] == [b"one"]
    (change,) = planned
    command, _, plan = shlex.split(change["kafka_command"])[-3:]
    assert (command, change["bytes"]) == ("--execute", change["bytes"])
    assert json.loads(plan)["partitions"] == [
        {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": [there]}
    ]
    again = shell.run(*words).decode()
    assert again == f"nothing to change: the replicas are in {there}, or on their way\n"


def test_move_that_takes_longer_is_not_said_to_be_done(shell: Shell, disks: Disks) -> None:
    here, there = disks.new_topic("slow", megabytes=1)
    disks.limit(1)

    status, output, errors = shell.result(
        "partition", "move", "slow", "--to", there, "--wait", "0.1"
    )
    begun = disks.paths("slow")
    cancelled = shell.run("partition", "move", "slow", "--cancel").decode()

    assert (status, output) == (1, b"")
    progress, *_, reason = errors.splitlines()
    assert progress.startswith("trio-kafka: 0 of 1 replicas moved, ")
    assert "after 0.1 s: the work goes on" in reason
    assert begun == [here, there]
    assert cancelled == f"done: cancel the move of slow-0 on broker 1: it stays in {here}\n"
    assert disks.paths("slow") == [here]
    assert shell.run("partition", "move", "slow", "--cancel") == (
        b"nothing to change: no replica moves\n"
    )


def test_directory_is_emptied_without_naming_its_topics(shell: Shell, disks: Disks) -> None:
    here, there = disks.new_topic("one-of-all")

    disks.done("partition", "move", "--from", here, "--to", there, "--wait", "60")

    rows = json.loads(shell.run("partition", "list", "--json"))["replicas"]
    assert here not in {row["directory"] for row in rows}


def test_only_replicas_of_the_directory_that_is_named_move(shell: Shell, disks: Disks) -> None:
    here, there = disks.new_topic("named")
    elsewhere, _ = disks.new_topic("elsewhere")
    if elsewhere == here:  # the broker takes the directory with the fewest partitions
        disks.done("partition", "move", "elsewhere", "--to", there, "--wait", "60")
        elsewhere = there
    (third,) = {"/one", "/two", "/three"} - {here, elsewhere}
    words = ("partition", "move", "named", "elsewhere", "--from", here, "--to", third)

    planned = json.loads(shell.run(*words, "--dry-run", "--json"))["changes"]

    assert [row["topic"] for row in planned] == ["named"]


def test_move_that_is_on_its_way_is_not_begun_again(shell: Shell, disks: Disks) -> None:
    _, there = disks.new_topic("twice", megabytes=1)
    disks.limit(1)
    words = ("partition", "move", "twice", "--to", there)
    shell.run(*words)

    again = shell.run(*words)
    shell.run("partition", "move", "twice", "--cancel")

    assert again.startswith(b"nothing to change: the replicas are in ")


def test_wrong_places_are_named_and_nothing_moves(shell: Shell, disks: Disks) -> None:
    here, _ = disks.new_topic("stays")
    move = ("partition", "move")

    assert "there is no directory /tow; did you mean /two?" in shell.fail(
        *move, "stays", "--to", "/tow"
    )
    assert "did you mean stays?" in shell.fail(*move, "stay", "--to", "/two")
    assert "no such replica on broker 9" in shell.fail(
        *move, "stays", "--to", "/two", "--broker", "9"
    )
    assert "give TOPIC" in shell.fail(*move, "--to", "/two", status=2)
    assert disks.paths("stays") == [here]
