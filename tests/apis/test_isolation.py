"""An isolation level that nobody knows: one answer for both APIs that have one."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, codes, fetch_request, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

UNKNOWN = [-128, -1, 2, 127]


@pytest.mark.parametrize("level", UNKNOWN)
async def test_list_offsets_with_an_unknown_isolation_level_answers_unknown_server_error(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    list_offsets_topic = ListOffsetsTopic("t", partitions=[ListOffsetsPartition(0, timestamp=-1)])
    async with broker() as served:
        await served.create_topic("t")
        for version in stable(ListOffsetsRequest)[1:]:  # from version 2 on it has a level
            request = ListOffsetsRequest(-1, level, topics=[list_offsets_topic])
            (topic,) = (await served.ask(request, version)).topics
            assert codes(topic.partitions) == [ErrorCode.UNKNOWN_SERVER_ERROR]

    assert "handler failed" not in caplog.text


@pytest.mark.parametrize("level", UNKNOWN)
async def test_fetch_with_an_unknown_isolation_level_answers_unknown_server_error(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        for replica in (-1, 1):
            request = fetch_request("t", 0, isolation_level=level, replica_id=replica)
            for version in (4, 6):
                (topic,) = (await served.ask(request, version)).responses
                assert codes(topic.partitions) == [ErrorCode.UNKNOWN_SERVER_ERROR]
            answer = await served.ask(request, 12)
            assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    assert stable(FetchRequest)[0] == 4
    assert "handler failed" not in caplog.text
