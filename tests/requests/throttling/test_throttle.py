"""Clients above their quotas, against a whole broker in virtual time.

Rates are over 10 s and what has passed of an eleventh: bytes / 10 - limit, over limit, is the part
of 10 s that is waited.
"""

from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, fetch_request, produce_request
from tests.apis.test_k49_alter_client_quotas import alter, entry
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.request import Request
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import FetchRequest, FetchResponse
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.quotas.accounts import Accounts
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame

LATEST = 12  # of Produce and Fetch by name
LINK_MS = 3  # what the simulated links take at most, there and back
PRODUCE_BODY = 15_000


def large(size: int = PRODUCE_BODY, *, acks: int = 1) -> ProduceRequest:
    return produce_request("t", (0, batch(bytes(size))), acks=acks)


def frame_size(request: object, version: int) -> int:
    """The size of a request as Kafka counts it."""
    return len(request_frame(request, version)) - 4


def over_ten_seconds(used: float, limit: float, since_first_s: float = 0.0) -> int:
    """The wait in ms."""
    span_ms = 10_000 + since_first_s * 1000
    return round((used / (span_ms / 1000) - limit) / limit * span_ms)


async def waited_ms(client: ServedBroker | ScriptedClient) -> float:
    """How long the next answer of a connection takes, in ms of virtual time."""
    before = trio.current_time()
    await client.ask(ApiVersionsRequest("a", "1"), 4)
    return (trio.current_time() - before) * 1000


def kinds(served: ServedBroker) -> Mapping[str, Accounts[Any]]:
    quotas = served.broker.parts.quotas.quotas
    parts = quotas.produce, quotas.fetch, quotas.request, quotas.mutation
    return {part.accounts.name: part.accounts for part in parts}


@pytest.mark.parametrize("version", [3, 9, LATEST])
async def test_producer_above_its_quota_gets_a_throttle_time_and_is_muted(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))
        request = large()
        expected = over_ten_seconds(frame_size(request, version), 1000)
        before = trio.current_time()

        answer = await served.ask(request, version)

        assert answer.throttle_time_ms == expected
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert trio.current_time() - before < LINK_MS / 1000  # it is answered first
        assert kinds(served)["Produce"].waiting == 1
        assert await waited_ms(served) == pytest.approx(expected, abs=LINK_MS)
        assert kinds(served)["Produce"].waiting == 0


async def test_producer_below_its_quota_is_not_throttled(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        size = frame_size(large(), LATEST)
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=size / 10 // 1 + 1))

        assert (await served.ask(large(), LATEST)).throttle_time_ms == 0
        assert await waited_ms(served) < LINK_MS


async def test_a_producer_without_acks_is_muted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))
        request = large(acks=0)

        await served.client.send(request_frame(request, LATEST))

        expected = over_ten_seconds(frame_size(request, LATEST), 1000)
        assert await waited_ms(served) == pytest.approx(expected, abs=LINK_MS)


async def test_muting_a_connection_does_not_mute_other_connections(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, served.connect() as other:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))

        await served.ask(large(), LATEST)

        assert await waited_ms(other) < LINK_MS  # the same client id, another connection
        answer = await other.ask(large(1), LATEST)
        assert answer.throttle_time_ms > 0  # which is charged together


async def test_fetch_above_its_quota_is_empty_and_gets_its_records_later(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        for _ in range(2):
            await served.ask(large(), LATEST)
        await alter(served, entry({"user": "ANONYMOUS"}, consumer_byte_rate=2000))
        request = fetch_request("t", 0, max_bytes=15_000)

        first = await served.ask(request, LATEST)
        second = await served.ask(request, LATEST)
        refused_at = trio.current_time()
        waited = await waited_ms(served)
        third = await until_given(served, request)

        size = len(first.responses[0].partitions[0].records)
        charged = size + 20 + 18 + 40
        assert first.throttle_time_ms == 0
        assert second.throttle_time_ms == pytest.approx(
            over_ten_seconds(2 * charged, 2000), abs=LINK_MS
        )
        assert second.responses == []
        assert waited == pytest.approx(second.throttle_time_ms, abs=LINK_MS)
        assert len(third.responses[0].partitions[0].records) == size
        assert trio.current_time() - refused_at >= second.throttle_time_ms / 1000


async def until_given(served: ServedBroker, request: FetchRequest) -> FetchResponse:
    """Ask again as often as it takes; what is in the windows has to leave them."""
    for _ in range(10):
        answer: FetchResponse = await served.ask(request, LATEST)
        if not answer.throttle_time_ms:
            return answer
        if answer.session_id:
            request.session_epoch += 1
    raise AssertionError("it is never given")


@asynccontextmanager
async def throttled_consumer() -> Any:
    """A broker whose consumer has used up its quota."""
    async with broker() as served:
        await served.create_topic("t")
        for _ in range(3):
            await served.ask(large(), LATEST)
        await alter(served, entry({"client-id": None}, consumer_byte_rate=2000))
        await served.ask(fetch_request("t", 0, max_bytes=15_000), LATEST)
        yield served


async def test_throttled_fetch_does_not_create_a_fetch_session(autojump_clock: MockClock) -> None:
    async with throttled_consumer() as served:
        sessions = served.broker[SessionCache]

        refused = await served.ask(fetch_request("t", 0, session_epoch=0, max_bytes=15_000), LATEST)

        assert refused.throttle_time_ms > 0
        assert (refused.session_id, refused.error_code, len(sessions)) == (0, 0, 0)
        begun = await until_given(served, fetch_request("t", 0, session_epoch=0, max_bytes=15_000))
        assert begun.session_id
        assert begun.responses


async def test_throttled_fetch_session_continues_with_the_missing_records(
    autojump_clock: MockClock,
) -> None:
    async with throttled_consumer() as served:
        begun = await served.ask(fetch_request("t", 3, session_epoch=0), LATEST)
        more = fetch_request("t", 0, session_id=begun.session_id, session_epoch=1)

        refused = await served.ask(more, LATEST)
        response = await until_given(
            served, fetch_request(None, session_id=begun.session_id, session_epoch=2)
        )

        assert begun.session_id
        assert refused.throttle_time_ms > 0
        assert (refused.session_id, refused.responses) == (begun.session_id, [])
        assert response.session_id == begun.session_id
        assert response.responses[0].partitions[0].records


async def test_fetch_size_is_limited_to_the_quota_of_its_windows(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        for _ in range(20):
            await served.ask(large(1000), LATEST)
        await alter(served, entry({"client-id": "scripted"}, consumer_byte_rate=500))

        answer = await until_given(served, fetch_request("t", 0, min_bytes=10_000))

        # All that its windows have room for.
        assert 4000 < len(answer.responses[0].partitions[0].records) <= 5000


async def test_quota_of_a_parked_fetch_is_checked_when_the_fetch_completes(
    autojump_clock: MockClock,
) -> None:
    async with throttled_consumer() as served, served.connect() as producer:
        await trio.sleep(60)
        await served.ask(fetch_request("t", 0, max_bytes=15_000), LATEST)
        answers = []

        async def poll() -> None:
            waits = fetch_request("t", 3, max_wait_ms=5000)
            answers.append(await served.client.ask(waits, LATEST))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(poll)
            await trio.testing.wait_all_tasks_blocked()
            await producer.ask(large(10_000), LATEST)

        assert answers[0].throttle_time_ms > 0
        assert answers[0].responses == []


async def test_request_time_above_the_quota_is_throttled_for_at_most_one_window(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await alter(served, entry({"client-id": "scripted"}, request_percentage=0.01))
        quota = served.broker.parts.quotas.quotas.request
        quota.note("ANONYMOUS", "scripted", 200.0, served.broker.parts.quotas.quotas.now_ms())

        first = await served.ask(MetadataRequest([]), 12)
        waited = await waited_ms(served)

        assert first.throttle_time_ms == 1000
        assert waited == pytest.approx(1000, abs=LINK_MS)


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (ApiVersionsRequest("a", "1"), 0),
        (ApiVersionsRequest("a", "1"), 1),
        (ApiVersionsRequest("a", "1"), 4),
        (MetadataRequest([]), 0),
        (MetadataRequest(None), 3),
        (MetadataRequest(None), 12),
        (DescribeClusterRequest(), 1),
        (large(1), 3),
        (fetch_request("t", 0), 4),
        (fetch_request("none", 0), 12),
    ],
)
async def test_throttled_responses_have_the_throttle_time_in_every_version_with_the_field(
    autojump_clock: MockClock, request_: object, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, request_percentage=1))
        quotas = served.broker.parts.quotas.quotas
        quotas.request.note("ANONYMOUS", "scripted", 11.0, quotas.now_ms())

        answer = await served.ask(request_, version)

        throttle_ms = 0 if (type(request_), version) in SILENT else 1000
        assert answer.throttle_time_ms == pytest.approx(throttle_ms, abs=LINK_MS)
        assert kinds(served)["Request"].waiting == 1
        assert await waited_ms(served) == pytest.approx(1000, abs=LINK_MS)


SILENT = {(ApiVersionsRequest, 0), (MetadataRequest, 0)}


async def test_throttle_time_is_the_longer_of_two_quotas(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(
            served,
            entry({"client-id": "scripted"}, request_percentage=1, producer_byte_rate=1000),
        )
        quotas = served.broker.parts.quotas.quotas
        quotas.request.note("ANONYMOUS", "scripted", 11.0, quotas.now_ms())

        answer = await served.ask(large(), LATEST)

        assert answer.throttle_time_ms > 1000
        assert (kinds(served)["Produce"].waiting, kinds(served)["Request"].waiting) == (1, 0)


async def test_request_time_of_a_produce_without_acks_is_not_charged(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, request_percentage=1))
        quotas = served.broker.parts.quotas.quotas
        quotas.request.note("ANONYMOUS", "scripted", 11.0, quotas.now_ms())

        await served.client.send(request_frame(large(acks=0), LATEST))
        await trio.testing.wait_all_tasks_blocked()

        assert kinds(served)["Request"].waiting == 0


async def test_exempt_request_time_is_counted_in_the_quota_figures(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, request_percentage=1))
        throttle = served.broker.parts.quotas
        request = in_flight(served, begun_s_ago=0.25, now=throttle.quotas.now())

        throttle.exempt(request)

        assert throttle.quotas.figures()["exempt-request-time"] == pytest.approx(25 / 30, rel=0.01)
        assert throttle.is_charged(request)


def in_flight(
    served: ServedBroker, begun_s_ago: float, now: float, handled: float = 0.0
) -> Request:
    """A request without a client id, as its handler ends."""
    (plane,) = [candidate for candidate in served.broker.parts.planes if candidate.name == "data"]
    (connection,) = [
        candidate for each in plane.processors for candidate in each.connections.values()
    ]
    connection.charged = None
    stamps = Stamps(received=now - begun_s_ago, begun=now - begun_s_ago, handled=handled)
    return Request(None, 0, 1, 0, connection, stamps)


async def test_request_time_is_handler_time_and_sending_time_without_waits(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await alter(served, entry({"client-id": None}, request_percentage=1000))
        throttle, accounts = served.broker.parts.quotas, kinds(served)["Request"]
        now = throttle.quotas.now()
        parked = in_flight(served, begun_s_ago=5.0, now=now, handled=now - 4.9)  # worked 0.1 s

        throttle.charge(parked)
        first = accounts.of("ANONYMOUS", "", 0).meter.measure(throttle.quotas.now_ms())
        parked.stamps.sending, parked.stamps.sent = now, now + 0.001
        throttle.charge(parked)
        parked.stamps.sent = now + 60  # its peer read slowly
        throttle.charge(parked)
        third = accounts.of("ANONYMOUS", "", 0).meter.measure(throttle.quotas.now_ms())

        assert first == pytest.approx(10 / 10, rel=0.01)
        assert third == pytest.approx((10 + 10.1 + 10.2) / 10, rel=0.001)


async def test_fetches_of_followers_are_not_throttled(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(
            served, entry({"client-id": "scripted"}, request_percentage=1, consumer_byte_rate=1)
        )
        quotas = served.broker.parts.quotas.quotas
        quotas.request.note("ANONYMOUS", "scripted", 11.0, quotas.now_ms())

        answer = await served.ask(fetch_request("t", 0, replica_id=1), LATEST)

        assert answer.throttle_time_ms == 0
        assert kinds(served)["Request"].waiting == 0


async def test_throttle_time_is_in_the_request_metrics(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))
        wait_ms = (await served.ask(large(), LATEST)).throttle_time_ms

        (node,) = [node for _, node in walk(served) if node.path.endswith("requests/Produce")]
        assert node.figures()["throttle_max_ms"] == pytest.approx(wait_ms)


async def mutate(served: ServedBroker, request: object, version: int) -> tuple[list[int], int]:
    """Error codes, and the throttle time."""
    answer = await served.ask(request, version)
    rows = next(
        getattr(answer, name)
        for name in ("topics", "responses", "results")
        if hasattr(answer, name)
    )
    return [row.error_code for row in rows], answer.throttle_time_ms


def creation(*names: str, partitions: int = 5) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(name, partitions, 1) for name in names])


def about(ms: int) -> Any:
    """Tokens come while the controller writes."""
    return pytest.approx(ms, abs=100)


TOO_MUCH = ErrorCode.THROTTLING_QUOTA_EXCEEDED


async def test_create_topics_of_new_versions_above_the_mutation_quota_are_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await alter(served, entry({"client-id": "scripted"}, controller_mutation_rate=1))

        created = await mutate(served, creation("a", "b", "c", "d"), 6)
        waited = await waited_ms(served)
        again = await mutate(served, creation("d"), 7)

        # 11 tokens were there: 15 are used by three, the fourth waits until -4 are 0.
        assert created == ([0, 0, 0, TOO_MUCH], about(4000))
        assert waited == about(4000)
        assert again == ([0], 0)


async def test_create_topics_of_old_versions_above_the_mutation_quota_are_throttled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await alter(served, entry({"client-id": "scripted"}, controller_mutation_rate=1))

        created = await mutate(served, creation("a", "b", "c", "d"), 5)

        assert created == ([0, 0, 0, 0], about(9000))
        assert await waited_ms(served) == about(9000)


@pytest.mark.parametrize("strict", [True, False])
async def test_create_partitions_and_delete_topics_are_charged_to_the_mutation_quota(
    autojump_clock: MockClock, strict: bool
) -> None:
    async with broker() as served:
        for name in ("a", "b", "c"):
            await served.create_topic(name, 6)
        await alter(served, entry({"client-id": "scripted"}, controller_mutation_rate=1))
        growth = CreatePartitionsRequest([CreatePartitionsTopic("c", 18, None)], timeout_ms=1000)
        gone = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=1000)

        grown = await mutate(served, growth, 3 if strict else 2)  # 12 of 11 tokens
        if strict:
            deleted = await mutate(served, gone, 5)
            assert grown == ([0], 0)
            assert deleted == ([TOO_MUCH, TOO_MUCH], about(1000))
        else:
            assert grown == ([0], about(1000))
            deleted = await mutate(served, gone, 4)  # a token came with the wait for it
            assert deleted == ([0, 0], about(12_000))


async def test_invalid_create_topics_are_not_charged_to_the_mutation_quota(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("a")
        await alter(served, entry({"client-id": "scripted"}, controller_mutation_rate=1))

        codes, wait_ms = await mutate(served, creation("a", "not/a/name", partitions=50), 7)

        assert TOO_MUCH not in codes
        assert all(codes)
        assert wait_ms == 0
        assert await mutate(served, creation("b", partitions=11), 7) == ([0], 0)


async def test_validate_only_create_topics_are_charged_to_the_mutation_quota(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await alter(served, entry({"client-id": "scripted"}, controller_mutation_rate=1))
        trial = creation("a", partitions=12)
        trial.validate_only = True

        assert await mutate(served, trial, 7) == ([0], 0)
        assert await mutate(served, creation("b", partitions=1), 7) == ([TOO_MUCH], about(1000))


async def test_changed_quotas_hold_at_once_for_connected_clients(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        assert (await served.ask(large(), LATEST)).throttle_time_ms == 0

        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=100))
        assert (await served.ask(large(), LATEST)).throttle_time_ms > 0
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1_000_000))
        assert (await served.ask(large(), LATEST)).throttle_time_ms == 0
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=None))
        assert (await served.ask(large(), LATEST)).throttle_time_ms == 0
        assert not served.broker.parts.quotas.active


async def test_client_that_disconnects_while_muted_leaves_no_throttled_request(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))
        async with served.connect() as leaving:
            assert (await leaving.ask(large(), LATEST)).throttle_time_ms > 0
        await trio.sleep(60)

        (plane,) = [
            candidate for candidate in served.broker.parts.planes if candidate.name == "data"
        ]
        assert sum(len(processor.connections) for processor in plane.processors) == 1
        assert kinds(served)["Produce"].waiting == 0


async def test_broker_stops_at_once_while_clients_are_muted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1))
        assert (await served.ask(large(), LATEST)).throttle_time_ms > 60_000
        before = trio.current_time()
    assert trio.current_time() - before < 5


async def test_quota_accounts_are_removed_after_an_hour_without_charges(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1_000_000))
        await served.ask(large(), LATEST)
        assert len(kinds(served)["Produce"]) == 1
        await trio.sleep(3700)
        assert len(kinds(served)["Produce"]) == 0


async def test_inspection_tree_has_the_figures_of_a_throttled_client(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, entry({"client-id": "scripted"}, producer_byte_rate=1000))
        wait_ms = (await served.ask(large(), LATEST)).throttle_time_ms

        result = {node.path.partition("quotas/")[2]: node.figures() for _, node in walk(served)}

        assert result["Produce"]["queue-size"] == 1
        assert result["Produce/user=,client-id=scripted"] == {
            "byte-rate": pytest.approx(frame_size(large(), LATEST) / 10, rel=0.001),
            "throttle-time": pytest.approx(wait_ms),
            "limit": 1000.0,
        }


def walk(served: ServedBroker) -> Any:
    return served.broker.node.walk()
