"""Files that are cut, flipped or left in the data directory of a broker process.

A consumer's other topics must not starve, and each start either serves or says why not.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.harness import Attacked, attacked_broker
from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.records.batch import iterate_headers
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import broker_process, trio_kafka_command
from trio_kafka.testing.scripted_client import request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SETTINGS = ("log.segment.bytes=1048576", "log.index.interval.bytes=1024")
VALUE = bytes(1000)
PER_BATCH = 100
RESTORE = "Restore __cluster_metadata-0 from a backup"


def ask(connection: Connection, request: object, version: int) -> Any:
    """The answer to a request."""
    data = bytes(connection.call(request_frame(request, version)))
    response = message_of(type(request)).response
    assert response is not None
    position = 4 + response_header_version(message_of(response), version)
    return decoder(response, version)(data, position)[0]


def fill(connection: Connection, topics: Sequence[str], batches: int) -> None:
    """Topics of one partition, with so many batches of 100 KB each."""
    request = CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in topics])
    assert not any(topic.error_code for topic in ask(connection, request, 7).topics)
    content = protocol.record_batch([VALUE] * PER_BATCH)
    for topic in topics:
        for _ in range(batches):
            answer = connection.call(protocol.produce_request(topic, content, 1))
            assert protocol.produce_error(topic, answer) == 0


def fetch(connection: Connection, offsets: dict[str, int]) -> dict[str, tuple[int, int]]:
    """By topic: the error code, and the offset to fetch next."""
    topics = [
        FetchTopic(
            topic=name, partitions=[FetchPartition(0, fetch_offset=at, partition_max_bytes=1 << 19)]
        )
        for name, at in offsets.items()
    ]
    request = FetchRequest(max_wait_ms=10, min_bytes=1, max_bytes=8 << 20, topics=topics)
    results = dict.fromkeys(offsets, (0, -1))
    for topic in ask(connection, request, 12).responses:
        (part,) = topic.partitions
        after = offsets[topic.topic]
        for _, header in iterate_headers(part.records or b""):
            after = header.next_offset
        results[topic.topic] = part.error_code, after
    return results


def consume(connection: Connection, topics: Sequence[str], end: int) -> dict[str, set[int]]:
    """Fetch all topics together to the offset `end`; the offsets where each went on. AssertionError
    if it stands still."""
    offsets = dict.fromkeys(topics, 0)
    seen: dict[str, set[int]] = {topic: set() for topic in topics}
    while any(at < end for at in offsets.values()):
        results = fetch(connection, offsets)
        assert not any(code for code, _ in results.values()), results
        after = {topic: at for topic, (_, at) in results.items()}
        assert any(after[topic] > at for topic, at in offsets.items()), offsets
        for topic in topics:
            seen[topic].add(after[topic])
        offsets = after
    return seen


def segments(data: Path, topic: str) -> list[Path]:
    return sorted((data / f"{topic}-0").glob("*.log"))


@pytest.mark.parametrize("cut", [0, 1, 150_000, 300_000])
def test_truncating_a_closed_segment_does_not_affect_other_topics(
    tmp_path: Path, size: Callable[[int, int], int], cut: int
) -> None:
    batches = size(30, 300)
    with (
        attacked_broker(tmp_path, *SETTINGS) as attacked,
        connect(attacked.broker.address) as connection,
    ):
        fill(connection, ("cut", "whole"), batches)
        consume(connection, ("cut", "whole"), batches * PER_BATCH)
        victim = segments(attacked.broker.data, "cut")[1]
        with victim.open("r+b") as file:
            file.truncate(cut)

        consume(connection, ("cut", "whole"), batches * PER_BATCH)

    assert attacked.log.count("segment file truncated by another program") == 1
    assert str(victim) in attacked.log


def damaged_start(tmp_path: Path, damage: Callable[[Path], None]) -> Attacked:
    """Fill two topics, stop, damage the data directory, start again and consume."""
    batches = 25
    with broker_process(tmp_path, *SETTINGS) as broker, connect(broker.address) as connection:
        fill(connection, ("cut", "whole"), batches)
        assert broker.stop() == 0
    damage(broker.data)
    with (
        attacked_broker(tmp_path, *SETTINGS) as attacked,
        connect(attacked.broker.address) as connection,
    ):
        consume(connection, ("cut", "whole"), batches * PER_BATCH)
    return attacked


def cut_closed(data: Path) -> None:
    with segments(data, "cut")[1].open("r+b") as file:
        file.truncate(250_000)


def zero_recovery_points(data: Path) -> None:
    path = data / "recovery-point-offset-checkpoint"
    path.write_bytes(bytes(path.stat().st_size))


def raise_start_offset(data: Path) -> None:
    (data / "log-start-offset-checkpoint").write_text("0\n1\ncut 0 999999\n")


def leave_foreign_files(data: Path) -> None:
    (data / "plain-0").write_text("a plain file")
    (data / "backup-2024").mkdir()
    (data / "backup-2024" / "dump.sql").write_text("-- not a log")
    (data / "photos").mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_closed, "segment file ends within a batch"),
        (zero_recovery_points, "malformed checkpoint ignored"),
        (raise_start_offset, "start offset above the log's end ignored"),
        (leave_foreign_files, "foreign file ignored"),
    ],
)
def test_a_start_with_damaged_files_serves_every_topic_and_logs_the_damage(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    attacked = damaged_start(tmp_path, damage)

    assert message in attacked.log


def flip_in_metadata_log(data: Path) -> None:
    path = data / "__cluster_metadata-0" / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def zero_metadata_log(data: Path) -> None:
    path = data / "__cluster_metadata-0" / f"{0:020}.log"
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [flip_in_metadata_log, zero_metadata_log])
def test_a_start_with_a_damaged_metadata_log_fails_with_advice_and_changes_nothing(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    with broker_process(tmp_path) as broker, connect(broker.address) as connection:
        fill(connection, ("t",), 1)
        assert broker.stop() == 0
    damage(broker.data)
    log = broker.data / "__cluster_metadata-0" / f"{0:020}.log"
    before = log.read_bytes()

    command = trio_kafka_command(unused_port(), broker.data, ())
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)

    assert ended.returncode == 1
    printed = (ended.stdout + ended.stderr).decode()
    assert f"{log} is damaged" in printed
    assert RESTORE in printed
    assert log.read_bytes() == before
