"""Errors of the codecs: undecodable bytes and unencodable values."""

from trio_kafka.errors import ProtocolError


class DecodeError(ProtocolError):
    """Input that cannot be decoded; names message, version and field where they are known."""


class EncodeError(ValueError):
    """Value that a version cannot carry: wrong type or size, forbidden null, or no such field."""


class ManyItemsError(Exception):
    """Message with too many items to be decoded at once: decode it in steps."""
