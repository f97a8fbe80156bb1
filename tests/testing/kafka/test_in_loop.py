"""The broker's clock is moved, and states are waited for."""

import threading
import time

import pytest
import trio
from confluent_kafka import Producer

from tests.testing.kafka.kit import consumer
from trio_kafka.controls.clock import ClockError
from trio_kafka.controls.values import Record
from trio_kafka.errors import KafkaError
from trio_kafka.testing.kafka.in_loop import kafka_in_loop
from trio_kafka.testing.kafka.machines import MemoryMachine, SimulatedMachine
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.simulated import Universe

WEEK_H = 7 * 24


def test_records_older_than_their_retention_are_deleted_when_the_clock_advances_a_week():
    with running_broker() as kafka:
        kafka.create_topic("orders", configs={"retention.ms": str(WEEK_H * 3_600_000)})
        kafka.create_topic("kept", configs={"retention.ms": "-1"})
        for topic in ("orders", "kept"):
            kafka.produce(topic, b"old")
        kafka.advance(hours=WEEK_H - 1)
        assert [record.text for record in kafka.records("orders")] == ["old"]
        assert kafka.advance(hours=2) >= 1
        assert kafka.records("orders") == []
        assert kafka.topic("orders").offsets == {0: (1, 1)}
        assert [record.text for record in kafka.records("kept")] == ["old"]
        kafka.produce("orders", b"new")
        assert [record.text for record in kafka.records("orders")] == ["new"]


def test_committed_offsets_of_an_empty_group_expire():
    with running_broker({"offsets.retention.minutes": "60"}, topics=["orders"]) as kafka:
        client = consumer(kafka)
        kafka.produce("orders", b"a")
        client.consume(1, timeout=10)
        client.commit(asynchronous=False)
        client.close()
        kafka.wait_for_group("g", state="Empty")
        kafka.advance(minutes=59)
        assert kafka.group("g").offsets == {("orders", 0): 1}
        kafka.advance(minutes=12)
        assert kafka.group("g").offsets == {}


def test_segment_is_rolled_when_the_clock_advances_past_segment_ms():
    with running_broker() as kafka:
        kafka.create_topic("t", configs={"segment.ms": "3600000"})
        kafka.produce("t", b"a")
        kafka.advance(hours=2)
        kafka.produce("t", b"b")
        (log,) = [
            candidate for candidate in kafka.broker.logs.logs if candidate.partition.topic == "t"
        ]
        assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_log_append_time_is_that_of_the_advanced_clock():
    with running_broker() as kafka:
        kafka.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
        (before,) = kafka.produce("t", b"a")
        kafka.advance(hours=1)
        (after,) = kafka.produce("t", Record(value=b"b", timestamp_ms=1))
        assert 3_600_000 <= after.timestamp_ms - before.timestamp_ms < 3_660_000


def test_clock_advances_while_clients_keep_the_loop_busy():
    with running_broker(topics=["t"]) as kafka:
        ended = threading.Event()

        async def always_runnable():
            while not ended.is_set():
                await trio.lowlevel.checkpoint()

        busy = threading.Thread(target=kafka.thread.call, args=(always_runnable,))
        busy.start()
        try:
            before = runs_of(kafka, "trio-disk-space")
            kafka.advance(hours=6)
            assert before < runs_of(kafka, "trio-disk-space") < before + 20
        finally:
            ended.set()
            busy.join()


def runs_of(kafka, name) -> int:
    (status,) = [job for job in kafka.jobs() if job.name == name]
    return status.runs


def test_periodic_job_without_work_runs_once_while_the_clock_advances():
    with running_broker() as kafka:
        before = runs_of(kafka, "kafka-log-retention")
        kafka.advance(hours=1)
        assert runs_of(kafka, "kafka-log-retention") - before == 1


def test_periodic_job_with_work_runs_on_time_while_the_clock_advances():
    topics = {hours: f"kept-{hours}-hours" for hours in (1, 2, 3, 4)}
    with running_broker() as kafka:
        for hours, topic in topics.items():
            kafka.create_topic(topic, configs={"retention.ms": str(hours * 3_600_000)})
            kafka.produce(topic, "a")
        before = runs_of(kafka, "kafka-log-retention")
        remaining = []
        for _ in topics:
            kafka.advance(minutes=66)
            remaining.append([hours for hours, topic in topics.items() if kafka.records(topic)])
        assert remaining == [[2, 3, 4], [3, 4], [4], []]
        assert runs_of(kafka, "kafka-log-retention") - before <= 8  # of 53


def test_advance_of_a_week_without_clients_has_few_deadlines():
    with running_broker(topics=["t"]) as kafka:
        kafka.produce("t", "a")
        assert kafka.advance(hours=WEEK_H) < 2_500


def test_age_of_a_client_record_counts_only_clock_advances_since_its_append():
    """The client's clock stands still: by the broker's, its record is eight days old at once."""
    with running_broker() as kafka:
        client = Producer({"bootstrap.servers": kafka.bootstrap})

        def send(text: str) -> None:
            client.produce("orders", text)
            assert client.flush(10) == 0

        def kept() -> list[str]:
            kafka.apply_retention()
            return [record.text for record in kafka.records("orders")]

        send("before")
        kafka.advance(hours=WEEK_H + 24)
        assert kept() == []
        send("between")
        kafka.advance(minutes=10)
        assert kept() == ["between"]
        kafka.restart()
        kafka.advance(hours=WEEK_H - 24)
        assert kept() == ["between"]
        kafka.advance(hours=25)
        assert kept() == []


def test_backdated_timestamp_of_a_client_counts_for_retention():
    with running_broker({"log.retention.hours": "168"}) as kafka:
        kafka.advance(hours=24)
        client = Producer({"bootstrap.servers": kafka.bootstrap})
        for days in (6, 8):
            client.produce("t", f"{days}", timestamp=int(1000 * (time.time() - 86_400 * days)))
            assert client.flush(10) == 0
        kafka.apply_retention()
        assert [record.text for record in kafka.records("t")] == ["6", "8"]  # the newer one decides
        kafka.advance(hours=25)
        assert kafka.records("t") == []


def test_reset_of_the_clock_restores_the_wall_time_and_keeps_deadlines():
    with running_broker({"num.partitions": "1"}) as kafka:
        kafka.advance(hours=WEEK_H + 24)
        kafka.reset_clock()
        (record,) = kafka.produce("t", "a")
        assert record.timestamp_ms == pytest.approx(1000 * time.time(), abs=10_000)
        kafka.apply_retention()
        assert len(kafka.records("t")) == 1
        kafka.advance(hours=WEEK_H + 1)
        assert kafka.records("t") == []


def test_negative_advance_of_the_clock_is_refused():
    with running_broker() as kafka, pytest.raises(ValueError, match="by -60 s: want 0 or more"):
        kafka.advance(minutes=-1)


def test_advance_in_a_loop_with_another_clock_names_the_clock_to_use(tmp_path):
    async def main():
        machine = MemoryMachine(clock=SkippingClock())
        async with kafka_in_loop(machine) as kafka:
            with pytest.raises(ClockError, match=r"SystemClock.*use running_broker\(\)"):
                await kafka.advance(hours=1)

    trio.run(main)


def test_advance_works_in_a_simulated_world():
    async def main(universe: Universe):
        async with kafka_in_loop(SimulatedMachine(universe=universe)) as kafka:
            await kafka.create_topic("t", configs={"retention.ms": "3600000"})
            await kafka.produce("t", b"a")
            await kafka.advance(hours=2)
            return await kafka.records("t")

    assert Universe(1).run(main) == []


def keyed(*pairs: tuple[str, str | None]) -> list[Record]:
    return [Record(key=key, value=value) for key, value in pairs]


def test_compact_removes_overwritten_records_and_old_tombstones():
    with running_broker() as kafka:
        kafka.create_topic(
            "latest", 2, {"cleanup.policy": "compact", "delete.retention.ms": "1000"}
        )
        kafka.produce("latest", *keyed(("a", "1"), ("b", "1"), ("a", "2"), ("b", None), ("c", "1")))

        kafka.compact("latest")
        first = {(record.key, record.value) for record in kafka.records("latest")}
        kafka.advance(seconds=2)
        kafka.compact("latest")

        assert first == {(b"a", b"2"), (b"b", None), (b"c", b"1")}
        second = {(record.key, record.value) for record in kafka.records("latest")}
        assert second == {(b"a", b"2"), (b"c", b"1")}
        kafka.produce("latest", *keyed(("a", "3")))
        kafka.restart()
        assert {(record.key, record.value) for record in kafka.records("latest")} >= {(b"a", b"3")}


def test_compact_of_a_topic_without_compaction_is_an_error():
    with running_broker(topics=["orders"]) as kafka, pytest.raises(KafkaError, match="compact"):
        kafka.compact("orders")


def test_advance_of_the_clock_compacts_a_dirty_topic():
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "60000",
        "min.cleanable.dirty.ratio": "0",
    }
    with running_broker() as kafka:
        kafka.create_topic("latest", configs=settings)
        for number in range(5):
            kafka.produce("latest", *keyed(("a", str(number))))
            kafka.advance(minutes=2)
        kafka.advance(minutes=5)

        assert [record.value for record in kafka.records("latest")] == [b"3", b"4"]
