"""Answers of Apache Kafka 4.4 to the same requests, in the same order."""

import pytest
from trio.testing import MockClock

from tests.apis.conversation import RECORD, converse
from tests.apis.kit import broker

pytestmark = pytest.mark.slow


async def test_classic_group_requests_are_answered_as_recorded_from_apache_kafka(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        said = await converse(served.ask)

    recorded = RECORD.read_text().splitlines()
    differences = [pair for pair in zip(said, recorded, strict=True) if pair[0] != pair[1]]
    assert differences == []
