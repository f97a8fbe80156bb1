"""`group.coordinator.append.linger.ms` in a whole broker: commits of many connections at once."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock

from tests.apis.test_k08_offset_commit import codes, commits, part, stored
from trio_kafka.errors import ErrorCode
from trio_kafka.log.read import read_bytes
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from trio_kafka.records.batch import iterate_headers
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.real import RealWorld

TOPIC = "__consumer_offsets"
SETTING = "group.coordinator.append.linger.ms"
MANY = 50


@asynccontextmanager
async def broker(
    linger_ms: int, **settings: str
) -> AsyncIterator[tuple[ServedBroker, list[ScriptedClient]]]:
    """It serves group g; with connections for as many clients as commit at once."""
    properties = {SETTING: str(linger_ms), **{k.replace("_", "."): v for k, v in settings.items()}}
    world = RealWorld() if "log_dirs" in settings else simulated_world()
    async with served_broker(world, properties) as served, AsyncExitStack() as stack:
        await served.create_topic("t", MANY)
        await served.serve_groups("g")
        yield served, [await stack.enter_async_context(served.connect()) for _ in range(MANY)]


async def commit_at_once(clients: list[ScriptedClient]) -> list[int]:
    """One offset of each: the errors."""
    errors: list[int] = []

    async def commit(number: int, client: ScriptedClient) -> None:
        request = OffsetCommitRequest("g", topics=[commits(part(number, 100 + number))])
        ((result,),) = codes(await client.ask(request, 9))
        assert result[0] == number
        errors.append(result[1])

    async with trio.open_nursery() as nursery:
        for number, client in enumerate(clients):
            nursery.start_soon(commit, number, client)
    return errors


async def sizes(served: ServedBroker) -> list[int]:
    """Of the batches in the partition of the group."""
    groups = served.broker.groups
    partition = served.broker.replicas.partition(TOPIC, groups.topic.partition_of("g"))
    content = await read_bytes(partition.local_log(), 0, 1 << 20)
    return [header.count for _, header in iterate_headers(content)]


@pytest.mark.parametrize("linger_ms", [5, -1, 0])
async def test_concurrent_commits_share_batches_only_with_a_positive_linger(
    autojump_clock: MockClock, linger_ms: int
) -> None:
    async with broker(linger_ms) as (served, clients):
        assert await commit_at_once(clients) == [0] * MANY

        result = await sizes(served)
        assert sum(result) == MANY
        assert result == [1] * MANY if linger_ms <= 0 else len(result) < MANY / 4
        assert [stored(served, "g", "t", n) for n in range(MANY)] == [100 + n for n in range(MANY)]
        figures = served.broker.groups.coordinator.shard_of("g").figures()
        batches = 0 if linger_ms <= 0 else len(result)
        assert (figures["open"], figures["batches"]) == (0, batches)


async def commit_in_one_round(clients: list[ScriptedClient]) -> list[int]:
    """The same, so that each reader finds all of its clients at once."""
    for number, client in enumerate(clients):
        request = OffsetCommitRequest("g", topics=[commits(part(number, 100 + number))])
        client.socket.send(request_frame(request, 9))
    answers = [
        (await connection.receive_answer(OffsetCommitResponse, 9))[1] for connection in clients
    ]
    return [code for answer in answers for topic in codes(answer) for _, code in topic]


@pytest.mark.parametrize("linger_ms", [-1, 0])
async def test_commits_of_a_reader_round_share_a_batch_unless_the_linger_is_zero(
    autojump_clock: MockClock, linger_ms: int
) -> None:
    async with broker(linger_ms, num_network_threads="2") as (served, clients):
        served.broker.world.universe.latency = 0.0  # type: ignore[attr-defined]
        for _ in range(2):
            assert await commit_in_one_round(clients) == [0] * MANY

        result = await sizes(served)
        assert sum(result) == 2 * MANY
        # In each of two rounds of two readers the first is written alone, the others together.
        assert result == [1] * 2 * MANY if linger_ms == 0 else len(result) == 8
        assert [stored(served, "g", "t", n) for n in range(MANY)] == [100 + n for n in range(MANY)]
        assert (
            served.broker.groups.coordinator.purgatories["OffsetCommit"].figures()["high_water"]
            == 0
        )


@pytest.mark.parametrize(
    ("linger_ms", "pause_ms", "batches"),
    [(20, 19, [2]), (20, 21, [1, 1]), (1, 0.5, [2]), (1, 2, [1, 1]), (0, 0, [1, 1])],
)
async def test_commits_share_a_batch_only_within_the_linger(
    autojump_clock: MockClock, linger_ms: int, pause_ms: float, batches: list[int]
) -> None:
    async with broker(linger_ms) as (served, clients), trio.open_nursery() as nursery:
        nursery.start_soon(commit_at_once, clients[:1])
        groups = served.broker.groups
        while not groups.coordinator.shard_of("g").figures()["records"]:
            await trio.sleep(0.0001)
        await trio.sleep(pause_ms / 1000)
        nursery.start_soon(commit_at_once, clients[1:2])
        await trio.sleep(1)

        assert await sizes(served) == batches


@pytest.mark.slow
async def test_concurrent_commits_over_sockets_share_batches(tmp_path: Path) -> None:
    async with broker(5, log_dirs=str(tmp_path / "log")) as (served, clients):
        for _ in range(3):
            assert await commit_at_once(clients) == [0] * MANY

        result = await sizes(served)
        assert sum(result) == 3 * MANY
        assert len(result) < 3 * MANY / 2


async def test_offsets_written_in_shared_batches_survive_a_restart(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world, {SETTING: "5"}) as served, AsyncExitStack() as stack:
        await served.create_topic("t", MANY)
        await served.serve_groups("g")
        clients = [await stack.enter_async_context(served.connect()) for _ in range(MANY)]
        await commit_at_once(clients)
    async with served_broker(world) as served:
        await served.serve_groups("g")

        assert [stored(served, "g", "t", n) for n in range(MANY)] == [100 + n for n in range(MANY)]


async def test_stopping_the_broker_refuses_the_commits_of_an_open_batch(
    autojump_clock: MockClock,
) -> None:
    async with broker(60_000) as (served, clients), trio.open_nursery() as nursery:
        errors: list[int] = []

        async def commit() -> None:
            errors.extend(await commit_at_once(clients))

        nursery.start_soon(commit)
        await trio.sleep(1)
        assert served.broker.groups.coordinator.shard_of("g").figures()["open"] == MANY
        served.broker.groups.stop()
        await trio.sleep(1)

        assert errors == [ErrorCode.NOT_COORDINATOR] * MANY
        assert await sizes(served) == []


async def test_refused_batch_fails_its_commits_and_reloads_the_shard(
    autojump_clock: MockClock,
) -> None:
    """Somebody makes `max.message.bytes` very small while a batch is open."""
    async with broker(50) as (served, clients):
        await commit_at_once(clients[:1])
        groups, shard = served.broker.groups, served.broker.groups.coordinator.shard_of("g")
        partition = served.broker.replicas.partition(TOPIC, groups.topic.partition_of("g"))
        before = partition.settings
        errors: list[int] = []

        async def commit() -> None:
            errors.extend(await commit_at_once(clients))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(commit)
            await trio.sleep(0.02)
            limits = evolve(before.limits, max_message_bytes=100)
            partition.settings = evolve(before, limits=limits)

        assert errors == [ErrorCode.UNKNOWN_SERVER_ERROR] * MANY
        await trio.sleep(1)
        assert groups.coordinator.shard_of("g") is not shard
        assert [stored(served, "g", "t", number) for number in range(2)] == [100, None]
        assert await commit_at_once(clients[:2]) == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
        figures = groups.coordinator.shard_of(
            "g"
        ).figures()  # of the new one, which has replayed nothing
        assert (figures["state"], figures["refused"]) == ("active", 2)
        partition.settings = before
        assert await commit_at_once(clients) == [0] * MANY
        assert await sizes(served) == [1, MANY]
