"""What a decision is: the answer, and the records that make it true once they are committed."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.metadata.source import MetadataRecord

T = TypeVar("T")


@frozen
class Decision(Generic[T]):
    """No records: nothing needs to change, the answer holds at once.

    records: walked once, and not at all where it is only asked what would be. None: much was looked
        at, and nothing has to change; others may run.
    """

    result: T
    records: Iterable[MetadataRecord | None] = ()
