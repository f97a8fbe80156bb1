"""How a broker stops: who is answered, what is left on the disk, how long it may take."""

import errno
import json
from contextlib import suppress

import pytest
import trio

from tests.broker.kit import APIS, config_of, content_of, fill, live_once
from trio_kafka.broker import Broker
from trio_kafka.errors import ErrorCode, InvariantError, LogDirError
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.scripted_client import connect, connected, request_frame
from trio_kafka.testing.simulation import fault_on

CLEAN = ".kafka_cleanshutdown"
VERSION = 12
ALL_TOPICS = MetadataRequest(topics=None)
BROKEN = OSError(errno.EIO, "Input/output error")


async def ask_for_ever(world, address) -> None:
    """A client that asks and never reads."""
    async with connected(world, address) as client:
        with suppress(OSError):
            while True:
                await client.send(request_frame(ALL_TOPICS, VERSION))


def long_poll(topic: str = "t", offset: int = 1) -> FetchRequest:
    """Waits for a second record for a quarter of an hour."""
    partition = FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=900_000, min_bytes=1, topics=[FetchTopic(topic, partitions=[partition])]
    )


@pytest.mark.slow
@pytest.mark.parametrize("controlled", ["true", "false"])
async def test_parked_long_polls_are_answered_when_the_broker_stops(
    world, autojump_clock, controlled: str
) -> None:
    answers: list[ErrorCode] = []

    async def poll(address, task_status) -> None:
        async with connected(world, address) as client:
            task_status.started()
            answer = await client.ask(long_poll(), VERSION)
            (topic,) = answer.responses
            answers.append(ErrorCode(topic.partitions[0].error_code))

    config = config_of({"controlled.shutdown.enable": controlled})
    async with trio.open_nursery() as nursery:
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await fill(broker)
            for _ in range(100):
                await nursery.start(poll, broker.endpoint)
            await trio.sleep(1)
            assert broker.purgatories.fetch.waiting == 100
            began = trio.current_time()
        assert trio.current_time() - began < 1

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER if controlled == "true" else ErrorCode.NONE
    assert answers == [code] * 100


@pytest.mark.parametrize("after_ms", [0, 0.2, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2])
async def test_long_poll_sent_during_the_stop_does_not_delay_the_stop(
    world, autojump_clock, after_ms: float
) -> None:
    config = config_of({"controlled.shutdown.enable": "false"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        clients = [await connect(world.network, broker.endpoint) for _ in range(20)]
        for client in clients:
            await client.send(request_frame(long_poll(), VERSION))
        await trio.sleep(after_ms / 1000)
        began = trio.current_time()

    assert trio.current_time() - began < 1
    for client in clients:
        client.close()


@pytest.mark.slow
async def test_clients_that_never_read_delay_the_stop_at_most_until_its_deadline(
    world, autojump_clock
) -> None:
    async with trio.open_nursery() as nursery:
        async with Broker(config_of(), world, format_if_empty=True, apis=APIS, stop_s=2) as broker:
            await fill(broker)
            for _ in range(3):
                nursery.start_soon(ask_for_ever, world, broker.endpoint)
            await trio.sleep(1)
            began = trio.current_time()
        took = trio.current_time() - began
        nursery.cancel_scope.cancel()

    assert 0.3 < took < 2
    assert content_of(world, "/data", CLEAN)
    assert broker.tasks.running == ()


async def test_clean_stop_writes_a_marker_with_the_epoch_and_skips_log_recovery(
    world, autojump_clock
) -> None:
    config = config_of()
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        epoch = broker.lifecycle.epoch
        assert not broker.logs.directories[0].clean

    marker = json.loads(content_of(world, "/data", CLEAN))
    assert marker == {"version": 0, "brokerEpoch": epoch}
    async with Broker(config, world, apis=APIS) as broker:
        assert broker.logs.directories[0].clean
        assert broker.lifecycle.epoch > epoch
        # One more as the broker gave up its leadership, one more as it took it again.
        assert broker.replicas.partition("t", 0).leader_epoch == 2
        assert broker.replicas.partition("t", 0).local_log().end_offset == 1


async def test_logs_are_recovered_after_a_crash_without_a_clean_shutdown_marker(
    world, autojump_clock
) -> None:
    config = config_of()
    world = await live_once(world, config, clean=False)

    assert not world.directory("/data").exists(CLEAN)
    async with Broker(config, world, apis=APIS) as broker:
        assert not broker.logs.directories[0].clean
        assert broker.replicas.partition("t", 0).local_log().end_offset == 1


async def test_cancelled_broker_ends_at_once_without_a_clean_shutdown_marker(
    world, autojump_clock
) -> None:
    with trio.CancelScope() as scope:
        async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
            scope.cancel()
            await trio.sleep_forever()

    assert broker.stop.durations == {}
    assert not world.directory("/data").exists(CLEAN)


async def test_exception_in_the_block_stops_the_broker_cleanly(world, autojump_clock) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Broker(config_of(), world, format_if_empty=True, apis=APIS):
            raise ZeroDivisionError

    assert world.directory("/data").exists(CLEAN)


async def test_broken_invariant_stops_in_order_without_a_clean_shutdown_marker(
    world, autojump_clock
) -> None:
    async with trio.open_nursery() as nursery:
        with pytest.raises(InvariantError, match="never"):
            async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
                await fill(broker)
                client = await connect(world.network, broker.endpoint)
                nursery.start_soon(client.ask, long_poll(), VERSION)
                await trio.sleep(1)
                broker.tasks.fail(InvariantError("never"))
                await trio.sleep_forever()

    assert list(broker.stop.durations)[-1] == "logs"
    assert not world.directory("/data").exists(CLEAN)
    client.close()


async def test_failed_metadata_log_stops_the_broker_and_keeps_other_directories_clean(
    world, autojump_clock
) -> None:
    config = config_of({"log.dirs": "/a,/b"})

    with pytest.raises(LogDirError, match="/a"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await fill(broker, partitions=4)
            world.universe.fault = fault_on("sync", BROKEN, "__cluster_metadata-0")
            await fill(broker, "more")

    assert list(broker.stop.durations)[-1] == "logs"
    world.universe.fault = fault_on("nothing", None)
    assert not world.directory("/a").exists(CLEAN)
    assert world.directory("/b").exists(CLEAN)
    assert world.locks == {}


async def test_metadata_log_that_cannot_be_closed_raises_a_log_dir_error(
    world, autojump_clock
) -> None:
    config = config_of({"metadata.log.dir": "/m", "controlled.shutdown.enable": "false"})

    with pytest.raises(LogDirError, match="/m"):
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await trio.sleep(1)
            world.universe.fault = fault_on("create", BROKEN, "__cluster_metadata-0")

    world.universe.fault = fault_on("nothing", None)
    assert broker.tasks.running == ()
    assert not world.directory("/m").exists(CLEAN)
    assert world.directory("/data").exists(CLEAN)


async def test_partitions_keep_their_leader_with_controlled_shutdown_disabled(
    world, autojump_clock
) -> None:
    config = config_of({"controlled.shutdown.enable": "false"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker)
        before = broker.raft.next_offset

    assert broker.raft.committed_offset == before
