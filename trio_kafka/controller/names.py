"""Which names a topic may have, and which ids.

Source: Topic and Uuid of Apache Kafka 4.4.0; the rule of `.` and `_` comes from metric names, where
both are `_`.
"""

import re
from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import METADATA_TOPIC, TopicId

LONGEST: Final = 249  # a directory's name has a number and a mark besides, and ends at 255
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_RESERVED_BELOW: Final = 100  # ids with a meaning of their own
_DASH: Final = 62  # the value of `-` in url-safe base64


def check_name(name: str) -> None:
    """Raises KafkaError: INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED (metadata topic)."""
    if name == METADATA_TOPIC:
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"{name} is the broker's own")
    if not name:
        found = "the name of a topic is empty"
    elif name in {".", ".."}:
        found = f"topic name {name!r} would be a directory"
    elif len(name) > LONGEST:
        found = f"topic name of {len(name)} characters: want at most {LONGEST}"
    elif not _LEGAL.fullmatch(name):
        found = f"topic name {name!r}: want ASCII letters, digits, '.', '_' and '-'"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, found)


def folded(name: str) -> str:
    """Names that are equal so collide."""
    return name.replace(".", "_")


def new_topic_id(random_bytes: Callable[[int], bytes]) -> TopicId:
    """A random UUID (version 4), none that is reserved, nor shown with a leading dash."""
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        reserved = int.from_bytes(raw) < _RESERVED_BELOW
        if not reserved and raw[0] >> 2 != _DASH:
            return TopicId(bytes(raw))
