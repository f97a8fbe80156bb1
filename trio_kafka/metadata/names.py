"""Names of topics: the rules for them, and the internal topics.

`__cluster_metadata` is a valid name; the controller refuses to create it.
Source: Topic of Apache Kafka 4.4.0.
"""

import re
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError

LONGEST_NAME: Final = 249  # so that a directory name with partition and suffix fits
CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_INTERNAL: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})


def check_topic_name(name: str) -> None:
    """Raise KafkaError(INVALID_TOPIC_EXCEPTION) for an invalid name."""
    if not name:
        reason = "an empty topic name: expected 1 to 249 characters"
    elif name in (".", ".."):
        reason = f"topic {name!r}: this name is reserved"
    elif len(name) > LONGEST_NAME:
        reason = f"a topic name of {len(name)} characters: expected at most {LONGEST_NAME}"
    elif not _LEGAL.fullmatch(name):
        reason = f"topic {name!r}: expected ASCII letters and digits, '.', '_' and '-'"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def collision_key(name: str) -> str:
    """Return the key that only one topic may have.

    In names of metrics '.' and '_' are the same, so topics with equal keys would share metrics.
    """
    return name.replace(".", "_")


def is_internal(name: str) -> bool:
    """Return whether a topic is written by the cluster itself."""
    return name in _INTERNAL
