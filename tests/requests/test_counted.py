"""Errors of all parts of an answer, counted while it is written."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.declared import classes, messages_of, versions
from trio_kafka.protocol.compiler import (
    counting_encoder,
    counting_encoder_in_steps,
    source_of,
    to_bytes,
)
from trio_kafka.protocol.encoding import CODES
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.counted import ErrorCounts

RESPONSES = [one for one in classes() if message_of(one).kind == "response"]


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


@given(st.data())
@pytest.mark.parametrize("cls", RESPONSES, ids=lambda one: one.__name__)
def test_codes_are_counted_and_the_bytes_are_the_same(cls: type[Any], data: Any) -> None:
    version = data.draw(st.sampled_from(versions(cls)))
    message = data.draw(messages_of(cls, version))
    wanted, whole = walked(message, version, defaultdict(int)), to_bytes(message, version)

    pieces: list[Any] = []
    counts: dict[int, int] = defaultdict(int)
    counting_encoder(cls, version)(message, pieces.append, counts)
    in_steps: list[Any] = []
    others: dict[int, int] = defaultdict(int)
    for _ in counting_encoder_in_steps(cls, version)(message, in_steps.append, others):
        pass

    assert b"".join(pieces) == b"".join(in_steps) == whole
    assert counts == others == wanted


def test_a_plain_encoder_counts_nothing() -> None:
    from trio_kafka.protocol.compiler import encoder

    assert "codes" not in source_of(encoder(ProduceResponse, 11))
    assert "codes[" in source_of(counting_encoder(ProduceResponse, 11))


def test_whoever_made_something_of_it_hears_of_a_change() -> None:
    counts, heard = ErrorCounts(), []
    counts.on_toggle(lambda: heard.append(counts.active))

    counts.turn(on=True)
    counts.turn(on=True)
    counts.turn(on=False)

    assert heard == [True, False]
