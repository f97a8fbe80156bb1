"""Ids of new topics.

Source: Uuid of Apache Kafka 4.4.0.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.model import TopicId

_RESERVED_BELOW: Final = 100  # ids with a meaning of their own
_DASH: Final = 62  # the value of `-` in url-safe base64


def new_topic_id(random_bytes: Callable[[int], bytes]) -> TopicId:
    """A random UUID (version 4), none that is reserved, nor shown with a leading dash."""
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        reserved = int.from_bytes(raw) < _RESERVED_BELOW
        if not reserved and raw[0] >> 2 != _DASH:
            return TopicId(bytes(raw))
