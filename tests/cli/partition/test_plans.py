"""Files with the replicas that partitions are to have."""

import json
from pathlib import Path

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.partition.plans import ANY, Goal, plan_of_moves, read_plan, show_plan
from trio_kafka.clients.admin.log_dirs import TopicPartitionReplica
from trio_kafka.model import TopicPartition

ROW = {"topic": "t", "partition": 0, "replicas": [1, 2]}


def test_file_that_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    moves = {TopicPartitionReplica("t", 3, 2): "/disk"}
    plan = plan_of_moves(moves, {TopicPartition("t", 3): [1, 2]})

    path.write_text(show_plan(plan))

    assert read_plan(str(path)) == plan
    assert plan == {TopicPartition("t", 3): Goal(replicas=(1, 2), directories=(ANY, "/disk"))}
    assert plan[TopicPartition("t", 3)].moves(TopicPartition("t", 3)) == moves


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("\xff", "no JSON"),
        ("[]", "want an object with a list `partitions`"),
        ('{"partitions": []}', "is empty"),
        ('{"version": 2, "partitions": []}', "version 2: want 1"),
        (json.dumps({"partitions": [ROW, ROW]}), "entry 2 of partitions: t-0 is there twice"),
        (json.dumps({"partitions": [3]}), "entry 1 of partitions: 3: want an object"),
        *(
            (json.dumps({"partitions": [{**ROW, **change}]}), reason)
            for change, reason in (
                ({"topic": 3}, "want a `topic`"),
                ({"partition": -1}, "want a `partition`"),
                ({"partition": True}, "want a `partition`"),
                ({"replicas": []}, "want `replicas`"),
                ({"replicas": [1, 1]}, "replicas 1,1: a broker is there twice"),
                ({"log_dirs": ["/a"]}, "1 log_dirs for 2 replicas"),
                ({"log_dirs": "/a"}, "`log_dirs` is no list of paths"),
                ({"logdirs": []}, "unknown name logdirs"),
            )
        ),
    ],
)
def test_wrong_file_is_refused_with_the_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="latin-1")

    with pytest.raises(CommandFailedError) as failure:
        read_plan(str(path))

    assert str(failure.value).startswith(f"{path}: ")
    assert reason in str(failure.value)


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"none\.json: No such file"):
        read_plan(str(tmp_path / "none.json"))
