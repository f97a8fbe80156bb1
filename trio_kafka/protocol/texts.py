"""Texts where people read them: Kafka's names of fields and uuids, and what clients chose."""

import base64
from typing import Any


def to_camel(name: str) -> str:
    """Kafka's name of a field: `k_raft_version` is kRaftVersion."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def show_uuid(value: bytes) -> str:
    """A uuid as Kafka writes it."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def read_uuid(text: Any) -> bytes:
    """The 16 bytes of a uuid as Kafka writes it. Raises ValueError."""
    value = base64.b64decode(f"{text}==", altchars=b"-_")
    if len(value) != 16 or show_uuid(value) != text:
        raise ValueError(f"{text!r} is no uuid: want 22 characters of base64url")
    return value


def printable(text: str) -> str:
    """The text with everything escaped that is no printable character."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
