"""A real disk that is full, and one that becomes read-only: its partitions fail, others serve."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.disks import SmallDisk, can_mount, small_disk
from tests.attacks.harness import Attacked, attacked_broker
from tests.attacks.test_damaged_files import ask, fetch
from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.processes import ProcessError, broker_process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not can_mount(), reason="no user namespaces here"),
]

TOPICS: Final = ("a", "b", "c", "d")
PER_BATCH: Final = 100
BATCH: Final = protocol.record_batch([bytes(1000)] * PER_BATCH)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", "size=8m") as mounted:
        yield mounted


def settings(tmp_path: Path) -> tuple[str, ...]:
    return (f"log.dirs={tmp_path}/data,{tmp_path}/small", f"metadata.log.dir={tmp_path}/data")


def produce(connection: Connection, topic: str) -> int:
    return protocol.produce_error(
        topic, connection.call(protocol.produce_request(topic, BATCH, -1))
    )


def create(connection: Connection) -> None:
    request = CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in TOPICS])
    assert not any(topic.error_code for topic in ask(connection, request, 7).topics)


def write_until_one_fails(connection: Connection, rounds: int) -> tuple[dict[str, int], set[str]]:
    """Acknowledged batches by topic, and the topics that failed."""
    written, failed = dict.fromkeys(TOPICS, 0), set[str]()
    for _ in range(rounds):
        for topic in TOPICS:
            error = produce(connection, topic)
            if error:
                assert error in {ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER}, (
                    error
                )
                failed.add(topic)
            else:
                written[topic] += 1
    return written, failed


def ends(connection: Connection) -> dict[str, int]:
    """Batches that can be fetched, by topic."""
    batches = dict[str, int]()
    for topic in TOPICS:
        offset, before = 0, -1
        while offset != before:
            before = offset
            code, after = fetch(connection, {topic: offset})[topic]
            assert not code, (topic, code)
            offset = max(after, offset)
        batches[topic] = offset // PER_BATCH
    return batches


def offline_lines(attacked: Attacked) -> list[str]:
    """Lines about directories that are offline, of all starts so far."""
    return re.findall(r".*log directory offline.*", attacked.log)


def test_a_full_disk_takes_only_its_partitions_offline_and_loses_no_record(
    tmp_path: Path, disk: SmallDisk
) -> None:
    with attacked_broker(tmp_path, *settings(tmp_path), command=disk.command) as attacked:
        with connect(attacked.broker.address) as connection:
            create(connection)
            written, failed = write_until_one_fails(connection, 60)
        (line,) = offline_lines(attacked)
        assert "No space left" in line
        assert "Traceback" not in attacked.log
        assert len(failed) == 2
        assert all(written[topic] == 60 for topic in set(TOPICS) - failed)

    disk.remount("size=64m")
    with (
        attacked_broker(tmp_path, *settings(tmp_path), command=disk.command) as attacked,
        connect(attacked.broker.address) as connection,
    ):
        assert ends(connection) == written
        assert not produce(connection, failed.pop())


def test_a_disk_that_is_read_only_at_start_takes_only_its_partitions_offline(
    tmp_path: Path, disk: SmallDisk
) -> None:
    with (
        attacked_broker(tmp_path, *settings(tmp_path), command=disk.command) as attacked,
        connect(attacked.broker.address) as connection,
    ):
        create(connection)
        before, failed = write_until_one_fails(connection, 2)
        assert not failed
    disk.remount("ro")

    with attacked_broker(tmp_path, *settings(tmp_path), command=disk.command) as attacked:
        with connect(attacked.broker.address) as connection:
            after, failed = write_until_one_fails(connection, 2)
        (line,) = offline_lines(attacked)
        assert "Read-only file system" in line
        assert len(failed) == 2

    disk.remount("rw")
    with (
        attacked_broker(tmp_path, *settings(tmp_path), command=disk.command) as attacked,
        connect(attacked.broker.address) as connection,
    ):
        assert offline_lines(attacked) == [line]  # that of the start before
        assert ends(connection) == {topic: before[topic] + after[topic] for topic in TOPICS}


def test_a_disk_that_is_unmounted_takes_only_its_partitions_offline(
    tmp_path: Path, disk: SmallDisk
) -> None:
    fast = "replica.high.watermark.checkpoint.interval.ms=100"
    with attacked_broker(tmp_path, *settings(tmp_path), fast, command=disk.command) as attacked:
        with connect(attacked.broker.address) as connection:
            create(connection)
            _, failed = write_until_one_fails(connection, 2)
            assert not failed
            disk.run("umount", "-l", str(disk.path))
            wait_until(lambda: bool(offline_lines(attacked)))
            written, failed = write_until_one_fails(connection, 2)
        (line,) = offline_lines(attacked)
        assert "have vanished" in line
        assert sorted(written.values()) == [0, 0, 2, 2]
        assert len(failed) == 2
    assert not list(disk.path.iterdir())  # nothing was written below the mount


def wait_until(happened: Callable[[], bool], within_s: float = 10.0) -> None:
    """Wait for a line in the log of another process."""
    end = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_broker_with_a_full_only_disk_exits_and_logs_the_lost_storage(
    tmp_path: Path, disk: SmallDisk
) -> None:
    only = (f"log.dirs={disk.path}",)
    written = 0
    with broker_process(tmp_path, *only, command=disk.command) as broker:
        with connect(broker.address) as connection, pytest.raises(ConnectionError):
            create(connection)
            while True:
                written += not produce(connection, "a")
        assert broker.process.wait(30) == 4  # storage is lost
    assert "storage is lost" in broker.log.read_text()
    disk.run("sh", "-c", f"dd if=/dev/zero of={disk.path}/filler bs=512 || true")

    with (
        pytest.raises(ProcessError, match=r"No space left.*make room on the disk"),
        broker_process(tmp_path, *only, command=disk.command),
    ):
        pass

    disk.run("rm", f"{disk.path}/filler")
    disk.remount("size=64m")
    with (
        broker_process(tmp_path, *only, command=disk.command) as broker,
        connect(broker.address) as connection,
    ):
        assert ends(connection)["a"] >= written
        assert not produce(connection, "b")
