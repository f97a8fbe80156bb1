"""Kafka's own tools for directories: kafka-log-dirs, kafka-reassign-partitions, kafka-configs,
kafka-delete-records.
"""

import json
import re
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.clients.build import class_path
from tests.clients.console.program import run
from tests.e2e.clients import new_topic, read, settings, values_of
from tests.installed import skipped_if_missing
from trio_kafka.testing.processes import BrokerProcess, broker_process

# A JVM for each question.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RECORDS, SIZE = 2000, 1000


def ask(broker: BrokerProcess, tool: str, *arguments: str) -> str:
    return run(tool, "--bootstrap-server", broker.bootstrap, *arguments)


def log_dirs(broker: BrokerProcess, *arguments: str) -> dict[str, dict]:
    """Return the output of kafka-log-dirs by directory."""
    printed = ask(broker, "LogDirsCommand", "--describe", *arguments)
    (line,) = (line for line in printed.splitlines() if line.startswith("{"))
    (node,) = json.loads(line)["brokers"]
    return {row["logDir"]: row for row in node["logDirs"]}


def places(directories: dict[str, dict]) -> dict[str, list[tuple[str, bool]]]:
    return {
        path: [(partition["partition"], partition["isFuture"]) for partition in row["partitions"]]
        for path, row in directories.items()
    }


def configs(broker: BrokerProcess, *arguments: str) -> str:
    return ask(broker, "kafka.admin.ConfigCommand", "--entity-type", "brokers", *arguments)


def test_kafka_tools_move_replicas_and_delete_records(tmp_path: Path) -> None:
    with skipped_if_missing():
        class_path("tools")
    first, second = str(tmp_path / "one"), str(tmp_path / "two")
    with broker_process(tmp_path / "broker", f"log.dirs={first},{second}") as broker:
        topic = new_topic(broker)
        producer = Producer(settings(broker))
        for number in range(RECORDS):
            producer.produce(topic, str(number).ljust(SIZE))
        assert producer.flush(60) == 0
        at = f"{topic}-0"

        result = log_dirs(broker, "--topic-list", topic)
        assert sorted(result) == [first, second]
        assert all(row["error"] is None for row in result.values())
        (here,) = (path for path, rows in places(result).items() if rows == [(at, False)])
        there = second if here == first else first
        (replica,) = result[here]["partitions"]
        assert replica["size"] > RECORDS * SIZE
        assert replica["offsetLag"] == 0

        plan = tmp_path / "plan.json"
        row = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [there]}
        plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
        moving = ("--reassignment-json-file", str(plan))
        throttle = ("--replica-alter-log-dirs-throttle", "100000")
        printed = ask(broker, "reassign.ReassignPartitionsCommand", *moving, "--execute", *throttle)
        assert f"started moving log directory to {there} for replica {at} with broker 1" in printed
        assert places(log_dirs(broker, "--topic-list", topic))[there] == [(at, True)]
        assert f"{RATE}=100000" in configs(broker, "--describe", "--entity-name", "1")
        printed = ask(broker, "reassign.ReassignPartitionsCommand", *moving, "--verify")
        assert "still in progress" in printed, printed

        configs(broker, "--alter", "--entity-name", "1", "--add-config", f"{RATE}=100000000")
        for _ in range(50):
            if places(log_dirs(broker, "--topic-list", topic))[there] == [(at, False)]:
                break
            time.sleep(0.5)
        printed = ask(broker, "reassign.ReassignPartitionsCommand", *moving, "--verify")
        assert re.search(rf"replica {at}.*completed successfully", printed), printed
        assert RATE not in configs(broker, "--describe", "--entity-name", "1")
        assert values_of(read(broker, topic, RECORDS))[:1] == [b"0".ljust(SIZE)]

        configs(
            broker, "--alter", "--entity-name", "1", "--add-config", f"cordoned.log.dirs={first}"
        )
        new = new_topic(broker)
        assert (f"{new}-0", False) in places(log_dirs(broker))[second]

        below = tmp_path / "offsets.json"
        rows = [{"topic": topic, "partition": 0, "offset": 1500}]
        below.write_text(json.dumps({"version": 1, "partitions": rows}))
        printed = ask(broker, "DeleteRecordsCommand", "--offset-json-file", str(below))
        assert re.search(rf"partition: {topic}-0\s+low_watermark: 1500", printed)
