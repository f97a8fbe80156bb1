"""Listeners whose clients authenticate: what a broker says, when, and to whom."""

import struct
from collections.abc import Callable
from random import Random

import pytest
import trio
from trio.testing import MockClock

from tests.apis.acls import allow, create
from tests.apis.kit import batch, parts_of, produce_request
from tests.apis.test_k49_alter_client_quotas import alter, entry
from tests.attacks.kept import check_flat
from tests.broker.sasl import LISTENER, PASSWORDS, create_scram_users, log_in, sasl_broker
from trio_kafka.config.authorizer import STANDARD
from trio_kafka.errors import ErrorCode
from trio_kafka.network.authentication.phase import AuthenticationCounts
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient, connect, request_frame
from trio_kafka.testing.simulation import simulated_world

METADATA = MetadataRequest([MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
WRONG = SaslAuthenticateRequest(b"\0ann\0wrong")
TOGETHER = 20


def counts(served: ServedBroker) -> AuthenticationCounts:
    """The counters of the listener, over its processors."""
    total = AuthenticationCounts()
    for processor in served.broker.parts.planes[0].processors:
        if processor.authentication is not None:
            some = processor.authentication.counts
            for name in ("succeeded", "failed", "renewed", "failed_renewals", "expired"):
                setattr(total, name, getattr(total, name) + getattr(some, name))
    return total


async def closed_at_once(client: ScriptedClient) -> bool:
    """Whether the broker closes within 50 ms, which is half the delay after a failure."""
    with trio.move_on_after(0.05):
        await client.wait_closed()
        return True
    return False


async def test_a_client_authenticates_and_its_requests_are_those_of_its_user(
    autojump_clock: MockClock,
) -> None:
    settings = {"authorizer.class.name": STANDARD, "super.users": "User:bob"}
    async with sasl_broker(settings) as served:
        ann = allow(Operation.DESCRIBE, ResourceType.TOPIC, "t", principal="User:ann")
        assert await create(served, ann) == [0]
        codes = {}
        for user, password in (("ann", "secret"), ("bob", "pw")):
            async with served.connect(LISTENER) as client:
                await client.ask(ApiVersionsRequest("test", "1"), 3)
                assert (await log_in(client, user, password)).error_code == 0
                (topic,) = (await client.ask(METADATA, 12)).topics
                codes[user] = topic.error_code
        (anonymous,) = (await served.ask(METADATA, 12)).topics
        successes = counts(served).succeeded

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {"ann": unknown, "bob": unknown}
    assert anonymous.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert successes == 2


async def test_a_quota_of_a_user_limits_the_connections_of_that_user_only(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"user": "ann"}, producer_byte_rate=1000))
        throttled = {}
        for user, password in PASSWORDS.items():
            async with served.connect(LISTENER) as client:
                await log_in(client, user, password)
                answer = await client.ask(produce_request("t", (0, batch(bytes(50_000)))), 12)
                throttled[user] = answer.throttle_time_ms > 0

    assert throttled == {"ann": True, "bob": False}


async def test_a_wrong_password_is_answered_after_the_delay_and_before_the_close(
    autojump_clock: MockClock,
) -> None:
    settings = {"connection.failed.authentication.delay.ms": "300"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        began = trio.current_time()

        answer = await client.ask(WRONG, 2)

        assert trio.current_time() - began == pytest.approx(0.3, abs=0.05)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.wait_closed()
        assert counts(served).failed == 1


async def test_a_failure_without_a_delay_is_answered_and_closed(autojump_clock: MockClock) -> None:
    settings = {"connection.failed.authentication.delay.ms": "0"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        await client.ask(SaslHandshakeRequest("PLAIN"), 1)

        assert (await client.ask(WRONG, 2)).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.wait_closed()


async def test_a_broker_reads_nothing_more_from_a_client_that_has_failed(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker() as served, served.connect(LISTENER) as client:
        frames = request_frame(SaslHandshakeRequest("PLAIN"), 1) + request_frame(WRONG, 2)
        right = request_frame(SaslAuthenticateRequest(b"\0ann\0secret"), 2)

        await client.send(frames + right + request_frame(METADATA, 12))

        assert len(await client.receive_frame()) > 0
        _, answer = await client.receive_answer(SaslAuthenticateResponse, 2)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.wait_closed()


async def test_frames_that_arrive_together_are_answered_in_order(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker() as served, served.connect(LISTENER) as client:
        frames = [
            request_frame(ApiVersionsRequest("test", "1"), 3),
            request_frame(SaslHandshakeRequest("PLAIN"), 1, correlation=1),
            request_frame(SaslAuthenticateRequest(b"\0ann\0secret"), 2, correlation=2),
            request_frame(METADATA, 12, correlation=3),
        ]

        await client.send(b"".join(frames))

        await client.receive_frame()
        assert (await client.receive_answer(SaslHandshakeResponse, 1))[0] == 1
        assert (await client.receive_answer(SaslAuthenticateResponse, 2))[0] == 2
        assert (await client.receive_answer(MetadataResponse, 12))[0] == 3


async def test_an_exchange_that_arrives_byte_by_byte_authenticates(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker() as served, served.connect(LISTENER) as client:
        token = b"\0ann\0secret"
        frames = request_frame(SaslHandshakeRequest("PLAIN"), 0)
        frames += struct.pack(">i", len(token)) + token

        for byte in frames:
            await client.send(bytes([byte]))
            await trio.sleep(0.001)

        await client.receive_frame()
        assert await client.receive_frame() == b""
        assert (await client.ask(METADATA, 12)).topics


@pytest.mark.parametrize("token", [b"", b"\0a"])
async def test_a_token_shorter_than_any_request_is_a_failed_login_and_not_a_bad_frame(
    autojump_clock: MockClock, token: bytes
) -> None:
    async with sasl_broker() as served, served.connect(LISTENER) as client:
        await client.ask(SaslHandshakeRequest("PLAIN"), 0)

        await client.send(struct.pack(">i", len(token)) + token)

        assert await client.wait_closed()
        assert counts(served).failed == 1


async def test_a_frame_above_the_limit_of_the_sasl_phase_is_a_failed_login(
    autojump_clock: MockClock,
) -> None:
    settings = {"sasl.server.max.receive.size": "1000"}
    async with sasl_broker(settings) as served:
        async with served.connect(LISTENER) as client:
            await client.ask(SaslHandshakeRequest("PLAIN"), 1)
            await client.send(struct.pack(">i", 1001))
            assert not await closed_at_once(client)
            assert await client.wait_closed()
            assert counts(served).failed == 1
        async with served.connect(LISTENER) as client:
            await log_in(client)
            topics = [MetadataRequestTopic(name=f"{n}" * 200) for n in range(10)]
            assert len((await client.ask(MetadataRequest(topics), 12)).topics) == 10


@pytest.mark.parametrize(
    ("first", "protocol"),
    [(b"GET / HTTP/1.1\r\n\r\n", "HTTP"), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS")],
)
async def test_the_log_names_another_protocol_on_a_port_with_sasl(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, first: bytes, protocol: str
) -> None:
    async with sasl_broker() as served, served.connect(LISTENER) as client:
        await client.send(first)
        await client.wait_closed()

    (line,) = [line for line in caplog.records if line.getMessage() == "authentication failed"]
    assert f"the client speaks {protocol} on a plaintext port" in str(vars(line))


@pytest.mark.parametrize("listener", ["PLAINTEXT", LISTENER])
async def test_sasl_requests_of_a_client_that_may_ask_anything_are_illegal(
    autojump_clock: MockClock, listener: str
) -> None:
    async with sasl_broker() as served, served.connect(listener) as client:
        if listener == LISTENER:
            await log_in(client)

        shaken = await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = await client.ask(SaslAuthenticateRequest(b"\0ann\0secret"), 2)

        assert shaken.error_code == answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert not await closed_at_once(client)


async def test_a_request_before_the_login_is_not_served(autojump_clock: MockClock) -> None:
    async with sasl_broker() as served:
        async with served.connect(LISTENER) as client:
            await client.ask(ApiVersionsRequest("test", "1"), 3)
            await client.send(request_frame(METADATA, 12))
            assert await closed_at_once(client)
        async with served.connect(LISTENER) as client:
            await client.send(request_frame(METADATA, 12))
            assert await client.wait_closed()


async def test_a_client_that_leaves_before_the_answer_to_its_failed_login_leaves_nothing_behind(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker() as served:
        async with served.connect(LISTENER) as client:
            await client.ask(SaslHandshakeRequest("PLAIN"), 1)
            await client.send(request_frame(WRONG, 2))
            await trio.sleep(0.01)
        await trio.sleep(1)

        processors = served.broker.parts.planes[0].processors
        assert not any(
            len(processor.connections)
            for processor in processors
            if processor.authentication is not None
        )


async def test_a_stop_waits_neither_for_logins_nor_for_failed_ones(
    autojump_clock: MockClock,
) -> None:
    settings = {"connection.failed.authentication.delay.ms": "60000"}
    async with sasl_broker(settings) as served:
        address, network = served.broker.endpoints[LISTENER], served.broker.world.network
        waiting, failed = await connect(network, address), await connect(network, address)
        for client in (waiting, failed):
            await client.ask(SaslHandshakeRequest("PLAIN"), 1)
        await failed.send(request_frame(WRONG, 2))
        await trio.sleep(0.01)
        began = trio.current_time()

    assert trio.current_time() - began < 5


async def test_a_session_that_is_renewed_loses_no_answer_and_one_that_is_not_is_closed(
    autojump_clock: MockClock,
) -> None:
    settings = {"connections.max.reauth.ms": "2000"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        assert (await log_in(client)).session_lifetime_ms == 2000
        for _ in range(3):
            await trio.sleep(1.5)
            frames = [
                request_frame(METADATA, 12, correlation=1),
                request_frame(SaslHandshakeRequest("PLAIN"), 1, correlation=2),
                request_frame(SaslAuthenticateRequest(b"\0ann\0secret"), 2, correlation=3),
                request_frame(METADATA, 12, correlation=4),
            ]
            await client.send(b"".join(frames))
            numbers = [struct.unpack_from(">i", await client.receive_frame())[0] for _ in frames]
            assert numbers == [1, 2, 3, 4]
        await trio.sleep(2.5)
        await client.send(request_frame(METADATA, 12))
        assert await client.wait_closed()
        seen = counts(served)

    assert (seen.succeeded, seen.renewed, seen.expired) == (1, 3, 1)


async def test_a_session_that_ends_within_a_produce_closes_the_connection_and_appends_nothing(
    autojump_clock: MockClock,
) -> None:
    settings = {"connections.max.reauth.ms": "2000"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as neighbour:
        await served.create_topic("t")
        produce = request_frame(produce_request("t", (0, batch(b"x"))), 12)
        async with served.connect(LISTENER) as client:
            await log_in(client)
            await client.send(produce[:-10])
            await trio.sleep(2.5)
            await log_in(neighbour)
            await client.send(produce[-10:])
            assert await client.wait_closed()

        await neighbour.send(produce)
        _, answer = await neighbour.receive_answer(ProduceResponse, 12)
        assert parts_of(answer)[0].base_offset == 0
        assert counts(served).expired == 1


async def test_a_request_that_waits_is_answered_after_the_end_of_its_session(
    autojump_clock: MockClock,
) -> None:
    settings = {"connections.max.reauth.ms": "2000"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        await served.create_topic("t")
        await log_in(client)
        part = FetchPartition(0, partition_max_bytes=1000)
        began = trio.current_time()

        fetch = FetchRequest(
            max_wait_ms=5000, min_bytes=1, topics=[FetchTopic("t", partitions=[part])]
        )
        answer = await client.ask(fetch, 12)

        assert answer.responses[0].partitions[0].error_code == 0
        assert trio.current_time() - began == pytest.approx(5, abs=0.5)
        await client.send(request_frame(METADATA, 12))
        assert await client.wait_closed()


async def test_a_failed_renewal_closes_the_connection_after_its_answer(
    autojump_clock: MockClock,
) -> None:
    settings = {"connections.max.reauth.ms": "2000"}
    async with sasl_broker(settings) as served, served.connect(LISTENER) as client:
        await log_in(client)
        await trio.sleep(1.5)

        again = await log_in(client, "bob", "pw")

        assert again.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.wait_closed()
        assert counts(served).failed_renewals == 1


@pytest.mark.slow
async def test_random_streams_of_sasl_bytes_disturb_no_other_client_and_keep_no_memory(
    autojump_clock: MockClock,
    size: Callable[[int, int], int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("CRITICAL")  # it keeps what is logged
    chance = Random(1)
    world = simulated_world()
    async with sasl_broker(world=world) as served, served.connect(LISTENER) as neighbour:
        await create_scram_users(served, "SCRAM-SHA-256")
        await log_in(neighbour)
        pieces = [
            request_frame(ApiVersionsRequest("test", "1"), 3),
            request_frame(SaslHandshakeRequest("PLAIN"), 1),
            request_frame(SaslHandshakeRequest("SCRAM-SHA-256"), 1),
            request_frame(SaslHandshakeRequest("SCRAM-SHA-256"), 0),
            request_frame(SaslAuthenticateRequest(b"n,,n=ann,r=x"), 2),
            request_frame(WRONG, 1),
            request_frame(METADATA, 12),
            request_frame(SaslAuthenticateRequest(b"c=biws,r=x,p=" + b"A" * 44), 2),
            b"\x7f\xff\xff\xff",
            b"GET / HTTP/1.1\r\n\r\n",
        ]

        async def attack() -> None:
            async with served.connect(LISTENER) as client:
                for _ in range(chance.randrange(1, 5)):
                    data = bytearray(chance.choice(pieces))
                    if chance.random() < 0.5:
                        data[chance.randrange(len(data))] = chance.randrange(256)
                    if chance.random() < 0.2:
                        data = data[: chance.randrange(len(data))]
                    try:
                        await client.send(data)
                    except OSError:
                        return
                await trio.sleep(chance.choice((0, 0.001, 0.2)))

        async def attack_often(streams: int) -> None:
            for _ in range(streams // TOGETHER):
                async with trio.open_nursery() as nursery:
                    for _ in range(TOGETHER):
                        nursery.start_soon(attack)
                assert (await neighbour.ask(METADATA, 12)).topics
                world.universe.trace.clear()  # it keeps each call
            await trio.sleep(1)

        await check_flat(size(1000, 100_000), attack_often)
        await trio.sleep(1)
        assert len(connections(served)) == 1


def connections(served: ServedBroker) -> list[object]:
    """Connections of the listener with SASL."""
    return [
        connection
        for processor in served.broker.parts.planes[0].processors
        for connection in processor.connections.values()
        if connection.listener.name == LISTENER
    ]
