"""Requests recorded with Kafka's answers, sent again: what is null in its answers is null in
ours, and nothing else is; and what goes with an error is the same.

The recorded cluster had other topics, groups and brokers, so parts of answers are compared that
have the error code of a recorded part, and of those without an error only what is null.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.protocol.declared import recorded, requests
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka_apis.listed import LISTED

SERVED = {row[0]: row[5] if len(row) > 5 else row[3] for row in LISTED}
WAITING = {11, 14}  # JoinGroup, SyncGroup: for members that nobody else is here
PATIENCE_S = 60.0
SETTINGS = {"unstable.api.versions.enable": "true", "broker.rack": "r1"}
# The member's own id is told with every error here.
DELIBERATE = {(42, "ConsumerGroupHeartbeatResponse", version, "member_id") for version in (0, 1)}
FREE = {"error_message", "throttle_time_ms"}  # but for nulls these are each broker's own
# An error, a class of a message, its version and a field.
Place = tuple[int, str, int, str]
Shape = str | int


def shapes(part: Any, version: int, code: int = 0) -> Iterator[tuple[Place, Shape]]:
    """Each field of an answer and its structs, and what of it does not depend on the cluster."""
    code = getattr(part, "error_code", code)
    for field in fields_of(type(part)):
        if not covers(field.versions, version):
            continue
        value, of_error = getattr(part, field.name), code != 0 and field.name not in FREE
        yield (code, type(part).__name__, version, field.name), shape(value, of_error=of_error)
        for item in value if isinstance(value, list | tuple) else [value]:
            if attrs.has(type(item)):
                yield from shapes(item, version, code)


def shape(value: Any, *, of_error: bool) -> Shape:
    """Whether it is null; beside an error also which number it is, or whether anything is there."""
    if value is None or not of_error:
        return "null" if value is None else "there"
    if isinstance(value, int):
        return value
    return "empty" if value in ("", b"", bytes(16), []) else "some"


def exchanges() -> Iterator[tuple[Any, Any, int]]:
    """Recorded requests that are served here, with Kafka's answers and their version."""
    for sample in recorded("wire-samples.jsonl.gz"):
        key, version = sample["key"], sample["version"]
        if key not in SERVED or version > SERVED[key] or key in WAITING or not sample["response"]:
            continue
        cls = requests()[key]
        message = message_of(cls)
        frame, answer = bytes.fromhex(sample["request"]), bytes.fromhex(sample["response"])
        _, begin = decoder(RequestHeader, request_header_version(message, version))(frame)
        _, start = decoder(ResponseHeader, response_header_version(message, version))(answer)
        assert message.response is not None
        request, _ = decoder(cls, version)(memoryview(frame), begin)
        response, _ = decoder(message.response, version)(memoryview(answer), start)
        yield request, response, version


@pytest.mark.slow
async def test_null_fields_and_fields_beside_errors_are_as_in_recorded_kafka_answers(
    autojump_clock: MockClock,
) -> None:
    # By what may be seen, too: only readers of what is committed are told of transactions.
    kafkas: dict[tuple[int, Place], set[Shape]] = defaultdict(set)
    ours: dict[tuple[int, Place], set[Shape]] = defaultdict(set)
    async with broker(SETTINGS) as served:
        for name in ("t1", "x"):
            await served.create_topic(name)
        for request, response, version in exchanges():
            seen = getattr(request, "isolation_level", 0)
            for place, result in shapes(response, version):
                kafkas[seen, place].add(result)
            async with served.connect() as client:
                with trio.move_on_after(PATIENCE_S):
                    for place, result in shapes(await client.ask(request, version), version):
                        ours[seen, place].add(result)

    compared = kafkas.keys() & ours.keys()
    assert len(compared) > 500
    assert {at[1] for at in compared if not ours[at] & kafkas[at]} == DELIBERATE
