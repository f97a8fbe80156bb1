"""A broker in a thread of its own, used from plain functions and from other loops."""

import asyncio
import threading

import pytest
import trio
from confluent_kafka import Consumer, Producer

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.testing.kafka.in_loop import NotReachedError
from trio_kafka.testing.kafka.life import NotRunningError
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka.testing.kafka.values import Record, StoredRecord
from trio_kafka.testing.loop_thread import LoopEndedError


@pytest.fixture
def kafka():
    with running_broker(topics={"orders": 3}) as kafka:
        yield kafka


def values(records: list[StoredRecord]) -> list[bytes | None]:
    return [one.value for one in records]


def consumer(kafka: Kafka, group: str = "g", **more: object) -> Consumer:
    found = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            **more,
        }
    )
    found.subscribe(["orders"])
    return found


def test_records_are_produced_and_read_without_a_client(kafka):
    stored = kafka.produce("orders", b"a", "b", None)
    keyed = kafka.produce(
        "orders",
        Record(value="c", key="k", headers=[("h", b"1")], timestamp_ms=5),
        Record(value="d", partition=2),
    )

    assert values(stored) == [b"a", b"b", None]
    assert [one.partition for one in stored] == [0, 1, 2]
    assert keyed[0].headers == (("h", b"1"),)
    assert keyed[0].timestamp_ms == 5
    assert keyed[1].partition == 2
    found = kafka.records("orders")
    assert sorted(found, key=repr) == sorted([*stored, *keyed], key=repr)
    last = keyed[1]
    assert kafka.records("orders", partition=2, start=last.offset) == [last]


def test_a_client_reads_what_the_kit_produced_and_the_other_way_round(kafka):
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce("orders", b"from a client", partition=0)
    producer.flush()
    kafka.produce("orders", Record(value=b"from the kit", partition=0))

    client = consumer(kafka)
    try:
        assert [one.value() for one in client.consume(2, timeout=10)] == [
            b"from a client",
            b"from the kit",
        ]
    finally:
        client.close()
    assert values(kafka.records("orders", partition=0)) == [b"from a client", b"from the kit"]


def test_a_topic_is_created_when_it_is_produced_to(kafka):
    kafka.produce("new", b"a")
    assert kafka.topics() == ["new", "orders"]
    assert kafka.topic("new").offsets == {0: (0, 1)}
    kafka.delete_topic("new")
    assert kafka.topics() == ["orders"]


def test_errors_are_those_of_kafka(kafka):
    with pytest.raises(KafkaError) as caught:
        kafka.records("missing")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as caught:
        kafka.create_topic("orders")
    assert caught.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaError, match="orders-7: the topic has 3 partitions"):
        kafka.produce("orders", Record(value=b"x", partition=7))
    with pytest.raises(KafkaError) as caught:
        kafka.records("orders", start=5)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_records_survive_restarts_and_kills_and_the_address_stays(kafka):
    address = kafka.bootstrap
    kafka.produce("orders", b"a")
    kafka.restart()
    kafka.kill()
    assert not kafka.is_running
    kafka.start()
    assert kafka.bootstrap == address
    assert values(kafka.records("orders")) == [b"a"]


def test_a_power_loss_takes_what_was_not_synced():
    with running_broker({"log.flush.interval.messages": "1"}) as kafka:
        kafka.produce("synced", b"a")
        kafka.kill(power=True)
        kafka.start()
        assert values(kafka.records("synced")) == [b"a"]
    with running_broker(topics=["unsynced"]) as kafka:
        kafka.produce("unsynced", b"a" * 2000)
        kafka.kill(power=True)
        kafka.start()
        assert kafka.records("unsynced") == []


def test_a_client_that_is_connected_goes_on_after_a_kill(kafka):
    client = consumer(kafka)
    try:
        kafka.produce("orders", b"before")
        assert [one.value() for one in client.consume(1, timeout=10)] == [b"before"]
        kafka.kill()
        kafka.start()
        kafka.produce("orders", b"after")
        assert [one.value() for one in client.consume(1, timeout=10)] == [b"after"]
    finally:
        client.close()


def test_groups_are_described_and_waited_for(kafka):
    client = consumer(kafka)
    try:
        kafka.produce("orders", *[b"x"] * 6)
        client.consume(6, timeout=10)
        client.commit(asynchronous=False)
        kafka.produce("orders", b"y")
        group = kafka.wait_for_group("g", state="Stable", members=1)
        assert group.type == "classic"
        assert group.members[0].partitions == (("orders", 0), ("orders", 1), ("orders", 2))
        assert sum(group.offsets.values()) == 6
        assert sum(group.lag.values()) == 1
        assert kafka.groups() == [group]
        with pytest.raises(NotReachedError, match=r"members 7: not reached within 0\.01 s: Group"):
            kafka.wait_for_group("g", members=7, limit_s=0.01)
    finally:
        client.close()
    kafka.wait_for_group("g", state="Empty", members=0)
    assert kafka.group("other").state == "Dead"


def test_a_consumer_group_of_the_new_protocol_is_described(kafka):
    client = consumer(kafka, "new", **{"group.protocol": "consumer"})
    try:
        kafka.produce("orders", b"x")
        client.consume(1, timeout=10)
        group = kafka.wait_for_group("new", state="Stable", members=1)
        assert group.type == "consumer"
        assert group.members[0].partitions == (("orders", 0), ("orders", 1), ("orders", 2))
    finally:
        client.close()


def test_what_is_not_reached_says_what_there_was(kafka):
    kafka.produce("orders", b"x")
    assert len(kafka.wait_for_records("orders", 1)) == 1
    with pytest.raises(NotReachedError, match=r"orders has 1 records, not 2, after 0\.01 s"):
        kafka.wait_for_records("orders", 2, limit_s=0.01)
    with pytest.raises(NotReachedError, match="a full moon: not reached"):
        kafka.wait_until(lambda: False, what="a full moon", limit_s=0.01)


def test_a_paused_broker_answers_nobody_and_goes_on(kafka):
    kafka.pause()
    try:
        with pytest.raises(RuntimeError, match="paused already"):
            kafka.pause()
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "message.timeout.ms": 60_000, "log_level": 0}
        )
        producer.produce("orders", b"late")
        assert producer.flush(0.3) == 1
    finally:
        kafka.resume()
        kafka.resume()
    assert producer.flush(10) == 0
    assert values(kafka.records("orders")) == [b"late"]


def test_a_stopped_broker_says_so(kafka):
    kafka.stop()
    for call in (kafka.topics, kafka.stop, kafka.kill):
        with pytest.raises(NotRunningError, match="call start"):
            call()
    kafka.start()
    with pytest.raises(RuntimeError, match="running already"):
        kafka.start()


def test_a_broker_that_has_ended_says_so():
    with running_broker() as kafka:
        pass
    with pytest.raises(LoopEndedError, match="the loop has ended"):
        kafka.topics()
    with pytest.raises(LoopEndedError):
        kafka.pause()


def test_a_start_that_fails_raises_and_leaves_no_thread():
    before = set(threading.enumerate())
    with running_broker() as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        with pytest.raises(Exception, match="in use"), running_broker(port=port):
            pass
    assert [one.name for one in set(threading.enumerate()) - before if "Trio" not in one.name] == []


def test_a_broker_that_fails_is_named_by_the_next_call_and_raised_at_the_end():
    with pytest.raises(InvariantError, match="state is wrong"), running_broker() as kafka:

        async def fail():
            kafka.broker.tasks.fail(InvariantError("state is wrong"))
            await trio.sleep_forever()

        for call in (lambda: kafka.thread.call(fail), kafka.topics):
            with pytest.raises(LoopEndedError, match="has failed: InvariantError"):
                call()


def test_the_methods_are_awaited_in_asyncio(kafka):
    async def main():
        await kafka.aio.produce("orders", b"a", b"b")
        both = await asyncio.gather(kafka.aio.records("orders"), kafka.aio.topics())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kafka.aio.wait_for_records("orders", 3, limit_s=60), 0.05)
        return both

    records, topics = asyncio.run(main())
    assert values(records) == [b"a", b"b"]
    assert topics == ["orders"]
    assert not kafka.thread.calls


async def test_the_methods_are_awaited_in_trio(kafka):
    await kafka.aio.produce("orders", b"a")
    with trio.move_on_after(0.05) as scope:
        await kafka.aio.wait_for_records("orders", 3, limit_s=60)
    assert scope.cancelled_caught
    assert values(await kafka.aio.records("orders")) == [b"a"]


def test_a_blocking_call_in_the_brokers_own_loop_is_refused(kafka):
    async def call():
        kafka.topics()

    with pytest.raises(RuntimeError, match="await the method instead"):
        kafka.thread.call(call)


def test_files_in_a_directory_outlive_the_broker(tmp_path):
    with running_broker(directory=str(tmp_path)) as kafka:
        kafka.produce("orders", b"a")
        with pytest.raises(ValueError, match="only files in memory lose power"):
            kafka.kill(power=True)
        kafka.kill()
        kafka.start()
    with running_broker(directory=str(tmp_path)) as kafka:
        assert values(kafka.records("orders")) == [b"a"]
