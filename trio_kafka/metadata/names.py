"""What a topic may be called, and which topics are the cluster's own.

`__cluster_metadata` is a proper name too: that nobody creates it is the controller's to say.
Source: Topic of Apache Kafka 4.4.0.
"""

import re
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError

LONGEST_NAME: Final = 249  # with "-", a partition and a mark it is still a file name
CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_INTERNAL: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})


def check_topic_name(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION)."""
    if not name:
        reason = "a topic's name cannot be empty"
    elif name in (".", ".."):
        reason = f"a topic cannot be called {name!r}"
    elif len(name) > LONGEST_NAME:
        reason = f"a topic's name of {len(name)} characters: want at most {LONGEST_NAME}"
    elif not _LEGAL.fullmatch(name):
        reason = f"topic {name!r}: want ASCII letters and digits, '.', '_' and '-'"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def collision_key(name: str) -> str:
    """Names with the same key would share the names of metrics: '.' and '_' are one there.

    So only one topic may have it.
    """
    return name.replace(".", "_")


def is_internal(name: str) -> bool:
    """Whether the cluster itself writes to it."""
    return name in _INTERNAL
