"""Bytes of members: as many items as honest clients send, and no more."""

import pytest

from trio_kafka.coordinators.groups.bounded_decode import MOST_ITEMS, SMALL, decode
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol import ConsumerProtocolSubscription


@pytest.mark.parametrize("count", [3, 5000])
def test_any_number_of_items_below_the_bound_is_decoded(count: int) -> None:
    names = [f"a topic with a name {number}" for number in range(count)]
    data = to_bytes(ConsumerProtocolSubscription(topics=names), 0)
    assert (len(data) > SMALL) == (count > 3)

    assert decode(ConsumerProtocolSubscription, 0, data, 0).topics == names


def test_more_items_than_the_bound_are_refused() -> None:
    data = to_bytes(ConsumerProtocolSubscription(topics=[""] * (MOST_ITEMS + 1)), 0)

    with pytest.raises(DecodeError, match=f"more than {MOST_ITEMS} items"):
        decode(ConsumerProtocolSubscription, 0, data, 0)
