"""Metadata records around batches that belong together, and the one that says nothing (KIP-868)."""

from trio_kafka.protocol.schema import record, string


@record(key=23, versions="0", flexible="0+")
class BeginTransactionRecord:
    """What follows takes effect at the end of the transaction."""

    name: str | None = string(nullable="0+", tag=0, default=None)


@record(key=24, versions="0", flexible="0+")
class EndTransactionRecord:
    """The transaction takes effect."""


@record(key=25, versions="0", flexible="0+")
class AbortTransactionRecord:
    """The transaction never was."""

    reason: str | None = string(nullable="0+", tag=0, default=None)


@record(key=20, versions="0", flexible="0+")
class NoOpRecord:
    """The controller is alive."""
