"""Reading of requests in flight, for a principal."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.apis.kit import fetch_request
from tests.introspect.waiting import waiting
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.security.principal import NOBODY
from trio_kafka_admin.readings.requests_in_flight import read_requests_in_flight


async def test_requests_are_read_with_the_chain_of_their_waits(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        await waits.ask(fetch_request(topic, 0, max_wait_ms=30_000))
        parts = waits.served.broker.parts
        (facts,) = await read_requests_in_flight(parts, NOBODY)
        none = await read_requests_in_flight(parts, NOBODY, keys=[0])

    assert [wait.on.name for wait in facts.why] == ["t-0"]
    assert none == []


async def test_requests_are_not_read_without_permission(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        waits.served.broker.parts.authorizer = deny_all()
        with pytest.raises(KafkaError) as caught:
            await read_requests_in_flight(waits.served.broker.parts, NOBODY)
        await trio.lowlevel.checkpoint()

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
