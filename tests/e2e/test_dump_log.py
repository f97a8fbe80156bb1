"""Apache Kafka's own tool reads what the broker left on the disk."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.clients.kafka_tools.jvm import AskTool
from tests.e2e.clients import new_topic, produce, settings
from trio_kafka.testing.processes import BrokerProcess

# A JVM for each question; Maven the first time.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MIB = 1 << 20
KEYS = 700
VALUES = [b"%07d" % n + b"=" * 993 for n in range(5000)]


@pytest.fixture
def partition(own_broker: BrokerProcess) -> Path:
    """The directory of a partition with 5 MB in segments of 1 MiB; its broker has stopped."""
    topic = new_topic(own_broker, segment_bytes=str(MIB), index_interval_bytes="4096")
    produce(Producer(settings(own_broker, linger_ms=5, batch_size=20_000)), topic, VALUES)
    own_broker.stop()
    return log_directory(own_broker) / f"{topic}-0"


def log_directory(broker: BrokerProcess) -> Path:
    [result] = [path.parent for path in broker.data.rglob("meta.properties")]
    return result


def dump(tool: AskTool, files: Sequence[Path], *options: str) -> str:
    names = ",".join(str(file) for file in files)
    done = tool("DumpLogSegments", "--files", names, *options)
    assert done.status == 0, done.printed + done.errors
    return done.printed + done.errors  # what it finds wrong is on stderr, with status 0


def test_segments_hold_every_record_in_valid_batches(partition: Path, kafka_tool: AskTool) -> None:
    segments = sorted(partition.glob("*.log"))

    text = dump(kafka_tool, segments, "--print-data-log")

    assert len(segments) >= 4
    assert re.findall(r"payload: (\d{7})", text) == [f"{n:07}" for n in range(len(VALUES))]
    assert set(re.findall(r"isvalid: (\w+)", text)) == {"true"}
    assert re.findall(r"Log starting offset: (\d+)", text) == [
        str(int(segment.stem)) for segment in segments
    ]


def test_index_entries_match_the_batches_of_their_segments(
    partition: Path, kafka_tool: AskTool
) -> None:
    indexes = sorted([*partition.glob("*.index"), *partition.glob("*.timeindex")])

    sane = dump(kafka_tool, indexes, "--index-sanity-check")
    checked = dump(kafka_tool, indexes, "--verify-index-only")

    assert len(indexes) >= 8
    assert all(index.stat().st_size > 0 for index in indexes[:-2])
    assert "Mismatches" not in checked
    assert "out of order" not in checked.lower()
    assert sane.count("passed sanity check") == len(indexes)


def test_offset_index_has_entries_for_every_sealed_segment(
    partition: Path, kafka_tool: AskTool
) -> None:
    sealed = sorted(partition.glob("*.index"))[:-1]

    entries = [dump(kafka_tool, [index]).count("position:") for index in sealed]

    assert all(count > 10 for count in entries), entries


def test_kafkas_metadata_decoder_reads_the_metadata_log(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    topic = new_topic(own_broker, 2, retention_ms="123456789")
    own_broker.stop()
    segments = sorted((log_directory(own_broker) / "__cluster_metadata-0").glob("*.log"))

    text = dump(kafka_tool, segments, "--cluster-metadata-decoder")

    assert f'"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"' in text.replace(" ", "")
    assert text.count('"PARTITION_RECORD"') >= 2
    assert '"123456789"' in text
    assert "REGISTER_BROKER_RECORD" in text
    assert set(re.findall(r"isvalid: (\w+)", text)) == {"true"}


def test_kafkas_decoder_reads_the_committed_offsets(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    topic = new_topic(own_broker, 2)
    consumer = Consumer(settings(own_broker, group_id="readers"))
    expected = [TopicPartition(topic, 0, 7), TopicPartition(topic, 1, 8)]
    consumer.commit(offsets=expected, asynchronous=False)
    consumer.close()
    own_broker.stop()
    logs = log_directory(own_broker).glob("__consumer_offsets-*/*.log")

    text = dump(kafka_tool, [log for log in logs if log.stat().st_size], "--offsets-decoder")

    for partition, offset in ((0, 7), (1, 8)):
        key = f'"group":"readers","topic":"{topic}","partition":{partition}'
        [line] = [line for line in text.splitlines() if key in line]
        assert f'"version":"4","data":{{"offset":{offset},' in line
        assert '"topicId":"' in line
    assert set(re.findall(r"isvalid: (\w+)", text)) == {"true"}


@pytest.fixture
def compacted(own_broker: BrokerProcess) -> Path:
    """The directory of a partition that the broker has compacted; it has stopped."""
    topic = new_topic(
        own_broker,
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        segment_bytes=str(MIB),
        index_interval_bytes="4096",
    )
    producer = Producer(settings(own_broker, linger_ms=5, batch_size=20_000))
    for number, value in enumerate(VALUES):
        producer.produce(topic, value, key=b"%d" % (number % KEYS))
        producer.poll(0)
    producer.flush(60)
    result = log_directory(own_broker) / f"{topic}-0"
    change = ConfigEntry(
        "log.cleaner.backoff.ms", "100", incremental_operation=AlterConfigOpType.SET
    )
    broker = ConfigResource("broker", "1", incremental_configs=[change])
    admin = AdminClient(settings(own_broker))
    (done,) = admin.incremental_alter_configs([broker]).values()
    done.result(30)
    deadline = time.monotonic() + 60
    while (result.parent / "cleaner-offset-checkpoint").exists() is False:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    own_broker.stop()
    return result


def test_compacted_segments_are_valid_and_hold_the_last_record_of_each_key(
    compacted: Path, kafka_tool: AskTool
) -> None:
    segments = sorted(compacted.glob("*.log"))
    indexes = sorted([*compacted.glob("*.index"), *compacted.glob("*.timeindex")])

    text = dump(kafka_tool, segments, "--print-data-log")
    checked = dump(kafka_tool, indexes, "--verify-index-only")

    result = re.findall(r"key: (\d+) payload: (\d{7})", text)
    assert len(result) < len(VALUES) - MIB // 1000
    assert dict(result) == {str(n % KEYS): f"{n:07}" for n in range(len(VALUES))}
    assert set(re.findall(r"isvalid: (\w+)", text)) == {"true"}
    assert "Mismatches" not in checked
    assert "out of order" not in checked.lower()
    assert not [path for path in compacted.iterdir() if path.name.count(".") > 1]
