"""The publisher that keeps delegation tokens: none is missed, and many are taken in steps."""

import random

from trio_kafka.broker.parts.delegation_tokens import TokenPublisher
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.security.delegation_tokens import DelegationTokens


def records(*ids: str) -> dict[str, DelegationTokenRecord]:
    return {
        token_id: DelegationTokenRecord("User:a", "User:a", [], 0, 1, 1, token_id)
        for token_id in ids
    }


def image(*ids: str) -> MetadataImage:
    return MetadataImage(tokens=ImmutableMap(records(*ids)))


def test_a_change_is_applied_after_the_whole_first_image() -> None:
    tokens = DelegationTokens("key", lambda: 0.0, random.Random(1).randbytes)
    ids = [str(number) for number in range(250)]
    first = image(*ids)
    publisher = TokenPublisher(tokens, first)
    next(iter(publisher.first))
    assert len(tokens) == 100

    delta = MetadataDelta(first, tokens={"249": None, **records("new")})
    steps = list(publisher.publish(delta, image()))

    assert len(steps) == 1  # of the first image
    assert set(tokens.records) == {*ids[:-1], "new"}
    assert list(publisher.first) == []
