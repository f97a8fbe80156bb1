"""`trio-kafka partition reassign`."""

import json
from pathlib import Path

import pytest

from tests.cli.kit import Shell
from tests.cli.partition.conftest import Disks


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


def write(plan: Path, topic: str, partition: int = 0, **more: object) -> str:
    row = {"topic": topic, "partition": partition, "replicas": [1], **more}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    return str(plan)


def test_plan_moves_a_replica_after_a_look(shell: Shell, disks: Disks, plan: Path) -> None:
    here, there = disks.new_topic("planned")
    words = ("partition", "reassign", write(plan, "planned", log_dirs=[there]))

    looked = shell.run(*words, "--dry-run").decode()
    assert disks.paths("planned") == [here]
    done = disks.done(*words, "--wait", "30")

    assert looked.splitlines() == [
        f"would move planned-0 on broker 1 from {here} to {there}, 0 bytes",
        (
            f"Kafka's own command: kafka-reassign-partitions.sh --bootstrap-server"
            f" {shell.kafka.bootstrap} --reassignment-json-file {plan} --execute"
        ),
    ]
    assert done == f"done: move planned-0 on broker 1 from {here} to {there}, 0 bytes\n"
    assert disks.paths("planned") == [there]
    assert shell.run(*words) == b"nothing to change: all is as planned, or on its way\n"


def test_move_of_a_plan_is_begun_and_cancelled(shell: Shell, disks: Disks, plan: Path) -> None:
    here, there = disks.new_topic("begun", megabytes=1)
    disks.limit(1)
    words = ("partition", "reassign", write(plan, "begun", log_dirs=[there]))

    begun = shell.run(*words).decode()
    both = disks.paths("begun")
    (third,) = {"/one", "/two", "/three"} - {here, there}
    write(plan, "begun", log_dirs=[third])
    of_another_plan = shell.run(*words, "--cancel")
    write(plan, "begun", log_dirs=[there])
    cancelled = shell.run(*words, "--cancel").decode()

    assert begun.startswith("done: begin to move begun-0 on broker 1 from ")
    assert both == [here, there]
    assert of_another_plan == b"nothing to change: nothing of the plan is in progress\n"
    assert cancelled == f"done: cancel the move of begun-0 on broker 1: it stays in {here}\n"
    assert disks.paths("begun") == [here]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"replicas": [1, 2]}, "refused-0: INVALID_REPLICA_ASSIGNMENT: there is no broker 2"),
        ({"partition": 7}, "topic refused: there is no partition 7, they are 0 to 0"),
        ({"topic": "refusd"}, "did you mean refused?"),
    ],
)
def test_plan_with_something_unknown_changes_nothing(
    shell: Shell, disks: Disks, plan: Path, row: dict[str, object], reason: str
) -> None:
    if "refused" not in shell.kafka.topics():
        shell.kafka.create_topic("refused")
    before = disks.paths("refused")
    write(plan, "refused")
    document = json.loads(plan.read_text())
    wrong = {"topic": "refused", "partition": 0, "replicas": [1], **row}
    plan.write_text(json.dumps({**document, "partitions": [wrong]}))

    for option in ((), ("--dry-run",)):
        assert reason in shell.fail("partition", "reassign", str(plan), *option)

    assert disks.paths("refused") == before


def test_directory_that_does_not_exist_is_the_brokers_error(
    shell: Shell, disks: Disks, plan: Path
) -> None:
    disks.new_topic("lost")

    line = shell.fail("partition", "reassign", write(plan, "lost", log_dirs=["/none"]))

    assert "LOG_DIR_NOT_FOUND" in line
