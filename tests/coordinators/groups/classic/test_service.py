"""What never reaches a shard, and how answers and errors are made; the rest is the handlers'."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.coordinators.groups.classic.values import (
    Beating,
    GroupProtocol,
    Joined,
    Joining,
    Syncing,
)
from trio_kafka.errors import ErrorCode, KafkaError


def joining(session_timeout_ms: int = 10_000) -> Joining:
    return Joining(
        member_id="me",
        client_id="c",
        client_host="/h",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=1000,
        protocol_type="consumer",
        protocols=(GroupProtocol("range", b""),),
        fresh="0",
    )


@pytest.mark.parametrize(
    ("group", "session_ms", "code"),
    [
        ("", 0, ErrorCode.INVALID_GROUP_ID),
        ("g", 6999, ErrorCode.INVALID_SESSION_TIMEOUT),
        ("g", 8001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
async def test_bounds_of_sessions_are_the_brokers(
    autojump_clock: MockClock, group: str, session_ms: int, code: ErrorCode
) -> None:
    """They are looked at before anybody asks where the group is."""
    settings = {"group.min.session.timeout.ms": "7000", "group.max.session.timeout.ms": "8000"}
    async with broker(settings) as served:
        found = served.broker.groups.classic.join(group, joining(session_ms), lambda answer: answer)

        assert found == Joined(member_id="me", error=code)
        for fits in (7000, 8000):
            elsewhere = served.broker.groups.classic.join("g", joining(fits), _code)
            assert elsewhere is ErrorCode.NOT_COORDINATOR


async def test_errors_are_answers(autojump_clock: MockClock) -> None:
    async with broker() as served:
        classic = served.broker.groups.classic
        syncing = Syncing(member_id="me", generation=1)
        beating = Beating("me", None, 1)
        found = [
            answer
            for group in ("", "g")
            for answer in (
                classic.sync(group, syncing, _code),
                classic.heartbeat(group, beating, _code),
                classic.leave(group, [], _code),
                classic.describe([group], lambda answers: _code(answers[0])),
            )
        ]

    invalid, elsewhere = ErrorCode.INVALID_GROUP_ID, ErrorCode.NOT_COORDINATOR
    # An empty id may be described: old clients commit under it.
    assert found == [invalid, invalid, invalid, elsewhere] + 4 * [elsewhere]


def _code(answer: Any) -> Any:
    return answer.code if isinstance(answer, KafkaError) else answer
