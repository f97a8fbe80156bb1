"""Reading of log directories, for a principal."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.introspect.waiting import slow_disk, waiting
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.security.principal import NOBODY
from trio_kafka_admin.readings.directories import read_directories


async def test_syncs_of_the_metadata_log_belong_to_its_directory(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        slow_disk(waits, "__cluster_metadata-0")
        await waits.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=60_000))
        (facts,) = await read_directories(waits.served.broker.parts, NOBODY)

    (sync,) = facts.syncs
    assert (sync.directory, sync.files) == ("/data", ("__cluster_metadata-0",))
    assert sync.age_s == pytest.approx(1, 0.1)


async def test_directories_are_not_read_without_permission(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        waits.served.broker.parts.authorizer = deny_all()
        with pytest.raises(KafkaError) as caught:
            await read_directories(waits.served.broker.parts, NOBODY)
        await trio.lowlevel.checkpoint()

    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
