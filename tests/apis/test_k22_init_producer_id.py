"""InitProducerId: ids that nobody else gets, also after restarts and power losses."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, produce, stable
from tests.apis.transactional_ids import initialize
from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.controller.producer_ids import BLOCK
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreateTopicsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import run_until_crash, simulated_world
from trio_kafka.world.simulated import SimulatedWorld
from trio_kafka_apis.k22_init_producer_id import LONGEST_WAIT_S

UNSTABLE = 6


async def next_id(served: ServedBroker, version: int = 5) -> int:
    answer: InitProducerIdResponse = await served.ask(InitProducerIdRequest(None, 1000), version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    return answer.producer_id


@pytest.mark.parametrize("version", stable(InitProducerIdRequest))
async def test_each_producer_gets_a_different_id_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        assert [await next_id(served, version) for _ in range(3)] == [0, 1, 2]


async def test_the_unstable_version_is_served_when_unstable_api_versions_are_enabled(
    autojump_clock: MockClock,
) -> None:
    async with broker({"unstable.api.versions.enable": "true"}) as served:
        listed = (await served.ask(ApiVersionsRequest("t", "1"), 4)).api_keys
        answer = await served.ask(InitProducerIdRequest(None, 1000), UNSTABLE)
        assert await next_id(served, 0) == 1

    assert [(api.min_version, api.max_version) for api in listed if api.api_key == 22] == [(0, 6)]
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 0, 0)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == (-1, -1)


async def test_the_unstable_version_closes_the_connection_when_not_enabled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        listed = (await served.ask(ApiVersionsRequest("t", "1"), 4)).api_keys
        with pytest.raises(EOFError):
            await served.ask(InitProducerIdRequest(None, 1000), UNSTABLE)

    assert [(api.min_version, api.max_version) for api in listed if api.api_key == 22] == [(0, 5)]


async def test_a_producer_can_write_with_its_new_id(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        producer = await next_id(served)
        records = batch(b"a", producer_id=producer, producer_epoch=0, base_sequence=0)

        assert (await produce(served, "t", records)).error_code == 0


@pytest.mark.slow
async def test_a_used_up_block_of_ids_is_followed_by_the_next_block(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        result = [await next_id(served) for _ in range(BLOCK + 2)]

    assert result == list(range(BLOCK + 2))


async def test_concurrent_clients_get_ids_from_one_block(autojump_clock: MockClock) -> None:
    result: list[int] = []
    async with broker() as served:

        async def ask() -> None:
            async with served.connect() as client:
                result.append((await client.ask(InitProducerIdRequest(None, 1000), 5)).producer_id)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert served.broker.metadata.image.next_producer_id == BLOCK

    assert sorted(result) == list(range(20))


async def test_no_producer_id_is_reused_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    result = []
    for _ in range(3):
        async with served_broker(world) as served:
            result += [await next_id(served) for _ in range(2)]

    assert result == [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1]


@pytest.mark.parametrize("seed", range(5))
async def test_no_producer_id_is_reused_after_a_power_loss(
    autojump_clock: MockClock, seed: int
) -> None:
    world = simulated_world(seed=seed)
    result: list[int] = []

    async def life(world: SimulatedWorld) -> None:
        async with served_broker(world) as served:
            while True:
                result.append(await next_id(served))

    for n in range(4):
        await run_until_crash(world, life, 0.3 + 0.1 * n, kept=0.0)
        world = world.universe.machine(world.name)

    assert len(result) > 10
    assert len(set(result)) == len(result)


@pytest.mark.parametrize("version", stable(InitProducerIdRequest))
@pytest.mark.parametrize(
    ("name", "code"), [("x", ErrorCode.NOT_COORDINATOR), ("", ErrorCode.INVALID_REQUEST)]
)
async def test_a_transactional_id_without_a_coordinator_and_an_empty_one_are_refused(
    autojump_clock: MockClock, version: int, name: str, code: ErrorCode
) -> None:
    async with broker() as served:
        answer = await served.ask(InitProducerIdRequest(name, 1000), version)

        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)
        assert await next_id(served) == 0


@pytest.mark.parametrize("version", stable(InitProducerIdRequest))
async def test_each_producer_of_a_transactional_id_gets_the_next_epoch(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        first = await initialize(served, "x", version)
        second = await initialize(served, "x", version)

        assert second == ProducerIdentity(first.producer_id, first.epoch + 1)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
async def test_a_fenced_producer_gets_the_error_that_its_version_knows(
    autojump_clock: MockClock, version: int, code: ErrorCode
) -> None:
    async with broker() as served:
        old = await initialize(served, "x")
        await initialize(served, "x")
        request = InitProducerIdRequest("x", 1000, old.producer_id, old.epoch)

        answer = await served.ask(request, version)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transaction_timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"enable2_pc": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"keep_prepared_txn": True}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
async def test_a_timeout_out_of_bounds_and_two_phase_commits_are_refused(
    autojump_clock: MockClock, fields: dict[str, Any], code: ErrorCode
) -> None:
    async with broker({"unstable.api.versions.enable": "true"}) as served:
        await initialize(served, "x")
        request = InitProducerIdRequest("x", **{"transaction_timeout_ms": 1000, **fields})

        answer = await served.ask(request, UNSTABLE)

    assert answer.error_code == code


@pytest.mark.parametrize(("producer", "epoch"), [(5, -1), (-1, 0)])
async def test_a_producer_id_without_an_epoch_or_the_reverse_is_an_invalid_request(
    autojump_clock: MockClock, producer: int, epoch: int
) -> None:
    async with broker() as served:
        answer = await served.ask(InitProducerIdRequest(None, 1000, producer, epoch), 5)

    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


async def test_a_producer_with_an_id_gets_a_new_id(autojump_clock: MockClock) -> None:
    async with broker() as served:
        first = await next_id(served)
        answer = await served.ask(InitProducerIdRequest(None, 1000, first, 0), 5)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, first + 1, 0)


@pytest.mark.parametrize("version", stable(InitProducerIdRequest))
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
async def test_a_failed_block_allocation_is_answered_with_a_retriable_error(
    autojump_clock: MockClock, version: int, code: ErrorCode
) -> None:
    answers: list[KafkaError | tuple[int, int]] = [KafkaError(code), (7000, 1)]

    async def allocate() -> tuple[int, int]:
        await trio.lowlevel.checkpoint()
        answer = answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    async with broker() as served:
        served.broker.parts.producer_ids = ProducerIds(allocate, Node("broker", "broker"))

        answer = await served.ask(InitProducerIdRequest(None, 1000), version)

        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
        assert await next_id(served, version) == 7000


async def test_a_request_waits_for_a_block_of_ids_only_for_a_limited_time(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        ids = served.broker.parts.producer_ids
        assert isinstance(ids, ProducerIds)
        async with ids._allocating:  # as if the controller never answered
            began = trio.current_time()
            answer = await served.ask(InitProducerIdRequest(None, 1000), 5)

        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert LONGEST_WAIT_S <= trio.current_time() - began < 30
        assert await next_id(served) == 0


async def test_a_request_waiting_for_a_block_does_not_block_other_requests(
    autojump_clock: MockClock,
) -> None:
    async with broker({"num.io.threads": "1"}) as served:
        ids = served.broker.parts.producer_ids
        assert isinstance(ids, ProducerIds)
        async with (
            trio.open_nursery() as nursery,
            served.connect() as other,
            ids._allocating,  # as if the controller took its time
        ):
            nursery.start_soon(next_id, served)
            await trio.sleep(1)
            with trio.fail_after(1):
                answer = await other.ask(CreateTopicsRequest([]), 7)

    assert answer.topics == []
