"""`partition.metadata`: the id of the topic to which a partition's directory belongs.

Source: KIP-516; the format of Kafka's file.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from typing import Final

from trio_kafka.model import TopicId

NAME: Final = "partition.metadata"
_VERSION: Final = "version: 0"
_TOPIC_ID: Final = "topic_id: "


@lru_cache(maxsize=64)  # partitions of one topic come one after the other
def format_id(value: bytes) -> str:
    """Format 16 bytes as Kafka writes ids: 22 characters of url-safe base64."""
    return urlsafe_b64encode(value)[:22].decode()


def parse_id(text: str) -> bytes:
    """Parse an id that `format_id` wrote. ValueError."""
    if len(text) != 22:
        raise ValueError(f"id {text!r} of {len(text)} characters: want 22")
    return urlsafe_b64decode(text.encode() + b"==")


@lru_cache(maxsize=64)
def encode(topic_id: TopicId) -> bytes:
    """Return the content of the file. It ends without a newline."""
    return f"{_VERSION}\n{_TOPIC_ID}{format_id(topic_id)}".encode()


def decode(content: bytes) -> TopicId:
    """Return the topic id. ValueError, also for a new file that a power loss left incomplete."""
    lines = content.decode("ascii").split("\n")
    if len(lines) < 2 or lines[0] != _VERSION or not lines[1].startswith(_TOPIC_ID):
        raise ValueError(f"{NAME}: {content!r}, want version 0 and a topic id")
    return TopicId(parse_id(lines[1].removeprefix(_TOPIC_ID)))
