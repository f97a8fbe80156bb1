"""Reading of connections, for a principal."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.introspect.waiting import waiting
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.security.principal import NOBODY
from trio_kafka_admin.readings.connections import read_connections


async def test_connections_are_bounded_before_they_are_read(autojump_clock: MockClock) -> None:
    async with waiting() as waits, waits.served.connect(), waits.served.connect():
        await trio.sleep(1)
        parts = waits.served.broker.parts
        every = await read_connections(parts, NOBODY)
        some = await read_connections(parts, NOBODY, most=2)

    assert (len(every), len(some)) == (3, 2)


async def test_connections_are_not_read_without_permission(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        waits.served.broker.parts.authorizer = deny_all()
        with pytest.raises(KafkaError) as caught:
            await read_connections(waits.served.broker.parts, NOBODY)

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
