"""Text forms of protocol values: Kafka's field names and uuids, and printable client strings."""

import base64


def to_camel(name: str) -> str:
    """Return Kafka's name of a field: `k_raft_version` is kRaftVersion."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def show_uuid(value: bytes) -> str:
    """Return a uuid as Kafka prints it: base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def read_uuid(text: object) -> bytes:
    """Return the 16 bytes of a uuid that Kafka printed. Raises ValueError."""
    value = base64.b64decode(f"{text}==", altchars=b"-_")
    if len(value) != 16 or show_uuid(value) != text:
        raise ValueError(f"{text!r} is not a uuid: want 22 characters of base64url")
    return value


def printable(text: str) -> str:
    """Return the text with every unprintable character escaped."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
