"""One request in detail: found by its connection and correlation id, decoded when it is opened."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.apis.classic import join_request
from tests.apis.kit import batch, fetch_request, produce_request
from tests.introspect.waiting import Waits, slow_disk, waiting
from tests.requests.test_handler_waits import FEW, metadata, slow
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.facts.requests import OpenedRequest, RequestFacts
from trio_kafka.plugin_host.state_access import open_request_as
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k11_join_group import JoinGroupRequestProtocol
from trio_kafka.security.principal import NOBODY


async def opened(waits: Waits, facts: RequestFacts) -> OpenedRequest:
    assert facts.connection is not None
    parts = waits.served.broker.parts
    request = await open_request_as(NOBODY, parts, facts.connection, facts.correlation)
    assert request is not None
    return request


async def test_parked_request_is_shown_with_its_fields_though_its_frame_is_given_back(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=5))
        (facts,) = await waits.facts("Fetch")
        request = await opened(waits, facts)

    assert request.fields is not None
    assert request.fields["minBytes"] == 5
    assert (request.no_fields, request.ended_s) == ("", None)
    assert request.facts.why == facts.why or request.facts.why[0].on == facts.why[0].on


async def test_queued_request_is_decoded_from_its_frame(autojump_clock: MockClock) -> None:
    async with waiting(FEW, plugins=(slow,)) as waits:
        await metadata(waits, 2)
        await waits.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        (facts,) = [row for row in await waits.facts("Metadata") if row.stage == "queued"]
        request = await opened(waits, facts)

    assert request.fields is not None
    assert request.fields["topics"][0]["name"] == "t"


async def test_large_request_is_not_decoded(autojump_clock: MockClock) -> None:
    async with waiting(FEW, plugins=(slow,)) as waits:
        await metadata(waits, 2)
        protocols = [JoinGroupRequestProtocol("range", bytes(100_000))]
        await waits.ask(join_request(3, protocols=protocols), 3)
        (facts,) = await waits.facts("JoinGroup")
        request = await opened(waits, facts)

    assert request.fields is None
    assert request.no_fields == "the request is larger than 64 KiB"


async def test_long_arrays_of_a_request_are_cut(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", 200)
        await waits.ask(fetch_request(topic, *[0] * 200, max_wait_ms=30_000))
        (facts,) = await waits.facts("Fetch")
        request = await opened(waits, facts)

    assert request.fields is not None
    assert len(request.fields["topics"][0]["partitions"]) == 51
    assert request.fields["topics"][0]["partitions"][-1] == "and 150 more"


async def test_large_produce_that_waits_shows_its_fields_without_its_records(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", configs={"flush.messages": "1"})
        await trio.sleep(1)
        slow_disk(waits, "/data/t-0")
        records = batch(bytes(300_000))
        await waits.ask(produce_request(topic, (0, records)))
        (facts,) = await waits.facts("Produce")
        request = await opened(waits, facts)

    assert request.fields is not None
    (partition,) = request.fields["topicData"][0]["partitionData"]
    assert partition == {"index": 0, "recordsSizeInBytes": len(records)}


async def test_other_connection_or_correlation_id_finds_no_request(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000))
        (facts,) = await waits.facts("Fetch")
        parts, connection = waits.served.broker.parts, facts.connection or ""
        other_id = await open_request_as(NOBODY, parts, connection, facts.correlation + 9)
        number = connection.rpartition("-")[2]
        other = await open_request_as(NOBODY, parts, f"x-{number}", facts.correlation)

    assert other_id is other is None


async def test_request_is_not_opened_without_permission(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        waits.served.broker.parts.authorizer = deny_all()
        with pytest.raises(KafkaError) as caught:
            await open_request_as(NOBODY, waits.served.broker.parts, "a-b-0", 1)

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
