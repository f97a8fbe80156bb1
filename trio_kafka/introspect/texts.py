"""Texts that peers choose, cut where they enter the tree, the log and the metrics.

A client id, group id or member id may have 32,767 bytes: more than a row of the tree can carry, and
enough to fill a disk with log lines.
"""

from collections.abc import Mapping, Sized
from itertools import islice
from typing import Final
from zlib import crc32

LONGEST_NAME: Final = 300  # characters; a log has at most 260: topic, dash, partition
LONGEST_FIELD: Final = 1000  # characters of a text in a log event
_MAX_ITEMS: Final = 100  # of a list or a table in a log event


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """Return the text, or its beginning with its length if it is too long."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def distinct(text: str) -> str:
    """Return the text, or its beginning with a checksum if it is too long: for labels of metrics,
    which must not become equal.
    """
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[:LONGEST_NAME]}...{crc32(text.encode(errors='replace')):08x}"


def bounded(value: object) -> object:
    """Return a value of a log event with its texts, lists and tables cut."""
    if isinstance(value, str):
        return shortened(value, LONGEST_FIELD)
    if isinstance(value, list | tuple):
        cut = [bounded(item) for item in value[:_MAX_ITEMS]]
        return cut if len(value) <= _MAX_ITEMS else [*cut, _more(value)]
    if isinstance(value, Mapping):
        few = {bounded(key): bounded(value[key]) for key in islice(value, _MAX_ITEMS)}
        return few if len(value) <= _MAX_ITEMS else {**few, "...": _more(value)}
    return value


def _more(items: Sized) -> str:
    return f"{len(items) - _MAX_ITEMS} more"
