"""Errors of all parts of an answer, counted while it is written."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.protocol.declared import classes, messages_of, versions
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.protocol.compiler import (
    counting_encoder,
    counting_encoder_in_steps,
    encoder,
    source_of,
    to_bytes,
)
from trio_kafka.protocol.encoding import CODES
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.error_counting import ErrorCounts
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

RESPONSES = [kind for kind in classes() if message_of(kind).kind == "response"]


def walked(part: Any, version: int, counts: dict[int, int]) -> dict[int, int]:
    """The codes that stand in a part of a message, and in the parts below it."""
    for field in fields_of(type(part)):
        if not covers(field.versions, version):
            continue
        value = getattr(part, field.name)
        if field.name in CODES:
            counts[value] += 1
        for below in value if field.kind == "array" and value else [value]:
            if hasattr(type(below), "__fields__"):
                walked(below, version, counts)
    return counts


@settings(max_examples=settings.default.max_examples // 10)
@given(st.data())
@pytest.mark.parametrize("cls", RESPONSES, ids=lambda response: response.__name__)
def test_counting_encoder_counts_error_codes_and_gives_the_same_bytes(
    cls: type[Any], data: Any
) -> None:
    version = data.draw(st.sampled_from(versions(cls)))
    message = data.draw(messages_of(cls, version))
    expected, whole = walked(message, version, defaultdict(int)), to_bytes(message, version)

    pieces: list[Any] = []
    counts: dict[int, int] = defaultdict(int)
    counting_encoder(cls, version)(message, pieces.append, counts)
    in_steps: list[Any] = []
    others: dict[int, int] = defaultdict(int)
    for _ in counting_encoder_in_steps(cls, version)(message, in_steps.append, others):
        pass

    assert b"".join(pieces) == b"".join(in_steps) == whole
    assert counts == others == expected


def test_plain_encoder_does_not_count_error_codes() -> None:
    assert "codes" not in source_of(encoder(ProduceResponse, 11))
    assert "codes[" in source_of(counting_encoder(ProduceResponse, 11))


def test_callback_runs_when_error_counting_is_switched_on_or_off() -> None:
    counts, states = ErrorCounts(), []
    counts.on_toggle(lambda: states.append(counts.active))

    counts.set_active(True)
    counts.set_active(True)
    counts.set_active(False)

    assert states == [True, False]


async def test_error_codes_are_counted_in_responses_that_are_charged_to_a_quota(
    autojump_clock: MockClock,
) -> None:
    """A quota and a count stand on one route; clients get the same bytes as without."""
    async with served_broker(simulated_world()) as served:
        parts = served.broker.parts
        await served.create_topic("t")
        request = MetadataRequest([MetadataRequestTopic(name="t"), MetadataRequestTopic(name="u")])
        request.allow_auto_topic_creation = False
        plain = await served.ask(request, 12)
        seen: list[Mapping[int, int]] = []

        def note(stamps: Stamps) -> None:
            seen.append(getattr(stamps, "errors", {}))

        nobody = ("", "nobody")
        parts.quotas.quotas.set(nobody, {"request_percentage": 1000.0})
        assert parts.quotas.active
        await served.ask(request, 12)
        parts.error_counts.set_active(True)  # routes that are there are made anew
        parts.planes[0].request_metrics.follow(note)
        answer = await served.ask(request, 12)
        parts.error_counts.set_active(False)
        await served.ask(request, 12)

        assert answer == plain
        assert seen == [{0: 2, 3: 1}, {}]
