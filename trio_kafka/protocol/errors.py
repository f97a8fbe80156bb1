"""What a codec can raise: bytes that are no such message, a message that is no such bytes."""

from trio_kafka.errors import ProtocolError


class DecodeError(ProtocolError):
    """The one error of any undecodable input; names message, version and field where they are
    known.
    """


class EncodeError(ValueError):
    """A value that a version cannot carry: of the wrong type or size, null where none is allowed,
    or no field for it.
    """


class ManyItemsError(Exception):
    """A message has too many items to be decoded in one go: decode it in steps."""
