"""Permissions and sessions that end while a request waits: it was decided when it came."""

from collections.abc import Awaitable, Callable

import trio
from trio.testing import MockClock

from tests.apis.acls import (
    EVERY_ACL,
    allow,
    ask_as_broker,
    broker_with_acls,
    create,
    delete,
)
from tests.apis.classic import GROUP, join, join_request, sync
from tests.apis.kit import (
    batch,
    fetch,
    parts_of,
    produce,
    produce_request,
    records_of,
)
from tests.broker.sasl import LISTENER, log_in, sasl_broker
from trio_kafka.errors import ErrorCode
from trio_kafka.network.reasons import CloseReason
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame
from trio_kafka.testing.simulation import fault_on, simulated_world
from trio_kafka.world.simulated import SimulatedWorld

TOPIC_ENTRIES = (allow(Operation.READ, name="t"), allow(Operation.WRITE, name="t"))
GROUP_ENTRY = allow(Operation.READ, ResourceType.GROUP, GROUP)
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
STALL_S = 3.0
SESSION_S = 2.0
BY_NAME = 12  # the newest version of Produce with names of topics


async def create_topic(served: ServedBroker) -> None:
    await ask_as_broker(served, CreateTopicsRequest([CreatableTopic("t", 1, 1)]))


def slow_down(served: ServedBroker, world: SimulatedWorld) -> None:
    """Make each append to the topic take STALL_S, in a thread."""
    log = served.broker.replicas.partition("t", 0).log
    assert log is not None
    now = log.latency.elapsed()
    log.latency.took_long(now - 1, now)
    world.universe.fault = fault_on("append", STALL_S, "/t-0/00000000000000000000.log")


async def meanwhile(waits: Callable[[], Awaitable[object]], change: Callable[[], object]) -> None:
    """Begin what waits; a second later, while it still does, make the change."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits)
        await trio.sleep(1)
        result = change()
        if isinstance(result, Awaitable):
            await result


async def test_a_fetch_that_waits_when_its_permission_ends_is_answered_and_the_next_is_denied(
    autojump_clock: MockClock,
) -> None:
    answers = []
    async with broker_with_acls(*TOPIC_ENTRIES) as served, served.connect() as reader:
        await create_topic(served)

        async def wait_for_records() -> None:
            answers.append(await fetch(reader, "t", max_wait_ms=60_000))

        async def change() -> None:
            await delete(served, EVERY_ACL)
            assert answers == []
            await create(served, allow(Operation.WRITE, name="t"))
            assert (await produce(served, "t", batch(b"late"))).error_code == 0

        await meanwhile(wait_for_records, change)
        (first,) = answers
        assert [record.value for record in records_of(first)] == [b"late"]
        assert (await fetch(reader, "t", max_wait_ms=60_000)).error_code == DENIED


async def test_a_fetch_session_is_denied_what_may_no_longer_be_read(
    autojump_clock: MockClock,
) -> None:
    async with broker_with_acls(*TOPIC_ENTRIES) as served:
        await create_topic(served)
        await produce(served, "t", batch(b"x"))
        assert (await fetch(served, "t")).error_code == 0
        await delete(served, EVERY_ACL)
        part = await fetch(served, "t")

        assert part.error_code == DENIED
        assert not part.records


async def test_a_join_that_waits_when_its_permission_ends_is_answered_and_the_sync_is_denied(
    autojump_clock: MockClock,
) -> None:
    """The second member waits for the first one to join again."""
    async with broker_with_acls(*TOPIC_ENTRIES, GROUP_ENTRY) as served:
        await create_topic(served)
        await served.serve_groups(GROUP)
        first = await join(served)
        assert (await sync(served, first, {first.member_id: b"all"})).error_code == 0
        joined = []
        async with served.connect() as other:

            async def join_too() -> None:
                joined.append(await join(other, rebalance_timeout_ms=5000))

            async def change() -> None:
                assert joined == []
                await delete(served, EVERY_ACL)

            await meanwhile(join_too, change)
            assert joined[0].error_code == 0
            assert joined[0].generation_id == first.generation_id + 1
            denied = await sync(other, joined[0])
            assert denied.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
            rejoined = await other.ask(join_request(9, joined[0].member_id), 9)
            assert rejoined.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_a_produce_that_waits_when_its_permission_ends_is_written_and_the_next_is_denied(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    written = []
    async with broker_with_acls(*TOPIC_ENTRIES, world=world) as served:
        await create_topic(served)
        slow_down(served, world)
        async with served.connect() as writer:

            async def write() -> None:
                written.append(await produce(writer, "t", batch(b"x"), acks=-1))

            async def change() -> None:
                assert written == []
                await delete(served, EVERY_ACL)

            await meanwhile(write, change)
            assert (written[0].error_code, written[0].base_offset) == (0, 0)
            assert (await produce(writer, "t", batch(b"y"))).error_code == DENIED
        world.universe.fault = fault_on("none", None)


# --- sessions


async def receive_produced(client: ScriptedClient) -> tuple[int, int]:
    """Correlation id and error of the next answer, to a Produce."""
    correlation, answer = await client.receive_answer(ProduceResponse, BY_NAME)
    (part,) = parts_of(answer)
    return correlation, part.error_code


def produced(correlation: int, acks: int = -1) -> bytes:
    request = produce_request("t", (0, batch(b"x" * 50_000)), acks=acks)
    return request_frame(request, BY_NAME, correlation=correlation)


async def test_a_produce_that_waits_when_its_session_ends_is_answered_and_the_next_closes(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = {"connections.max.reauth.ms": str(int(SESSION_S * 1000))}
    async with sasl_broker(settings, world) as served, served.connect(LISTENER) as client:
        await served.create_topic("t")
        await log_in(client)
        await trio.sleep(SESSION_S / 2)
        slow_down(served, world)
        began = trio.current_time()
        await client.send(produced(1) + produced(2))

        assert await receive_produced(client) == (1, 0)
        assert trio.current_time() - began > SESSION_S
        assert await client.wait_closed()
        world.universe.fault = fault_on("none", None)
        assert served.broker.replicas.partition("t", 0).log.end_offset == 1
        assert expired(served) == 1


async def test_a_produce_whose_last_bytes_arrive_after_the_end_of_its_session_is_not_served(
    autojump_clock: MockClock,
) -> None:
    settings = {"connections.max.reauth.ms": str(int(SESSION_S * 1000))}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        await served.create_topic("t")
        await log_in(client)
        frame = produced(1)
        await client.send(frame[:-1])
        await trio.sleep(SESSION_S + 0.1)
        await client.send(frame[-1:])

        assert await client.wait_closed()
        assert served.broker.replicas.partition("t", 0).log.end_offset == 0
        assert expired(served) == 1


def expired(served: ServedBroker) -> int:
    return served.broker.counters.value(
        "connections_closed", listener=LISTENER, reason=CloseReason.EXPIRED
    )
