"""Records that group batches into one transaction, and the no-op record (KIP-868)."""

from trio_kafka.protocol.schema import record, string


@record(key=23, versions="0", flexible="0+")
class BeginTransactionRecord:
    """Begin of a transaction; later records take effect at its end."""

    name: str | None = string(nullable="0+", tag=0, default=None)


@record(key=24, versions="0", flexible="0+")
class EndTransactionRecord:
    """End of a transaction, which takes effect."""


@record(key=25, versions="0", flexible="0+")
class AbortTransactionRecord:
    """Abort of a transaction, which has no effect."""

    reason: str | None = string(nullable="0+", tag=0, default=None)


@record(key=20, versions="0", flexible="0+")
class NoOpRecord:
    """Record without effect, by which a controller shows that it is alive."""
