"""Consumers read what brokers before 0.11 wrote: message sets in an old data directory."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.records.test_legacy import NAMES, SETS, messages
from trio_kafka.records.legacy import read_legacy_records
from trio_kafka.testing.processes import broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
WITHIN_S = 30


def test_librdkafka_reads_old_message_sets_and_records_written_after_them(tmp_path: Path) -> None:
    with broker_process(tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        expected = [NewTopic("old", len(NAMES), 1)]
        admin.create_topics(expected)["old"].result(WITHIN_S)
    for number, name in enumerate(NAMES):
        directory = tmp_path / "data" / f"old-{number}"
        for file in directory.iterdir():
            if file.name != "partition.metadata":
                file.unlink()
        (directory / f"{100:020}.log").write_bytes(SETS[name])

    with broker_process(tmp_path) as broker:
        client = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
        producer = Producer(client)
        for number in range(len(NAMES)):
            producer.produce("old", b"new", b"key", partition=number)
        assert not producer.flush(WITHIN_S)
        result = {name: read(client, number) for number, name in enumerate(NAMES)}
        admin = AdminClient(client)
        at = TopicPartition("old", NAMES.index("v1-gzip.bin"))
        largest = admin.list_offsets({at: OffsetSpec.for_timestamp(1)})[at].result(WITHIN_S)

    for name in NAMES:
        records = [
            record for _, message in messages(SETS[name]) for record in read_legacy_records(message)
        ]
        assert result[name][:-1] == [
            (record.offset, record.key, record.value) for record in records
        ]
        assert result[name][-1] == (records[-1].offset + 1, b"key", b"new")
    assert largest.offset == 100


def read(client: dict[str, object], partition: int) -> list[tuple[int, bytes, bytes]]:
    """Offset, key and value of all records of a partition."""
    consumer = Consumer({**client, "group.id": "g"})
    try:
        at = TopicPartition("old", partition, 100)
        _, end = consumer.get_watermark_offsets(at, timeout=WITHIN_S)
        consumer.assign([at])
        result: list[tuple[int, bytes, bytes]] = []
        while not result or result[-1][0] < end - 1:
            message = consumer.poll(WITHIN_S)
            assert message is not None
            assert message.error() is None
            result.append((message.offset(), message.key(), message.value()))
        return result
    finally:
        consumer.close()
