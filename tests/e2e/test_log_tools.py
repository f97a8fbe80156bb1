"""`trio-kafka log` and Apache Kafka's own tool read the same from a broker's files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cli.log.kit import kafkas_pieces, run, run_json
from tests.cli.log.test_dump import by_file, same
from tests.clients.kafka_tools.jvm import AskTool
from tests.e2e.clients import new_topic, produce, settings
from tests.e2e.test_dump_log import dump, log_directory
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def fill(broker: BrokerProcess) -> None:
    """Topics in every codec, one of several segments, and offsets of a group."""
    values = [b"%05d" % number + b"=" * 200 for number in range(300)]
    for codec in CODECS:
        topic = new_topic(broker, segment_bytes=str(1 << 20), index_interval_bytes="1000")
        produce(
            Producer(
                settings(
                    broker,
                    linger_ms=5,
                    batch_size=5000,
                    compression_type=codec,
                    enable_idempotence=True,
                )
            ),
            topic,
            values,
        )
    large = new_topic(broker, segment_bytes=str(1 << 20), index_interval_bytes="4096")
    produce(Producer(settings(broker, linger_ms=5)), large, [bytes(1000)] * 3000)
    consumer = Consumer(settings(broker, group_id="readers"))
    consumer.commit(offsets=[TopicPartition(large, 0, 7)], asynchronous=False)
    consumer.close()


def kafkas_view(tool: AskTool, folder: Path) -> dict[str, list[dict[str, Any]]]:
    files = [
        path
        for pattern in ("*.log", "*.index", "*.timeindex", "*.snapshot", "*-*.checkpoint")
        for path in folder.glob(pattern)
        if path.stat().st_size
    ]
    decoder = {
        "__consumer_offsets": "--offsets-decoder",
        "__cluster_metadata": "--cluster-metadata-decoder",
    }.get(folder.name.rpartition("-")[0], "--print-data-log")
    result: dict[str, list[dict[str, Any]]] = {}
    for name, piece in kafkas_pieces(dump(tool, files, decoder)):
        result.setdefault(name, []).append(piece)
    return result


def test_trio_kafka_and_apache_kafka_log_tools_read_the_same_contents(
    own_broker: BrokerProcess, kafka_tool: AskTool, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(own_broker)
    own_broker.stop()
    root = log_directory(own_broker)
    folders = [
        folder
        for folder in sorted(root.glob("*-*"))
        if folder.is_dir() and any(path.stat().st_size for path in folder.glob("*.log"))
    ]

    compared = 0
    for folder in folders:
        status, rows = run_json(capsys, "dump", str(folder), "--records")
        assert status == 0
        ours = by_file(rows)
        for name, pieces in kafkas_view(kafka_tool, folder).items():
            assert len(pieces) == len(ours[name]), (folder, name)
            for want, result in zip(pieces, ours[name], strict=True):
                assert same(want, result) == want, (folder, name)
            compared += len(pieces)
    assert len(folders) >= len(CODECS) + 3
    assert compared > 300 * len(CODECS)

    status, lines = run(capsys, "verify", str(root))
    assert (status, lines[-1].rpartition(": ")[2]) == (0, "0 errors, 0 warnings"), lines


@contextmanager
def produced_meanwhile(broker: BrokerProcess, topic: str) -> Iterator[None]:
    stop = Event()

    def work() -> None:
        producer = Producer(settings(broker, linger_ms=1, acks="1"))
        while not stop.is_set():
            producer.produce(topic, bytes(500))
            producer.poll(0.001)
        producer.flush(10)

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_log_tools_read_the_files_of_a_running_broker_without_errors(
    own_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = new_topic(own_broker, segment_bytes=str(1 << 20), retention_bytes=str(2 << 20))
    fill(own_broker)
    root = log_directory(own_broker)

    with produced_meanwhile(own_broker, topic):
        for _ in range(10):
            for command in ("verify", "stats", "dump"):
                status, lines = run(capsys, command, str(root))
                assert status == 0, [line for line in lines if "error" in line or "DAM" in line]

    own_broker.process.kill()
    own_broker.process.wait()
    status, lines = run(capsys, "verify", str(root))
    assert status == 0, lines
