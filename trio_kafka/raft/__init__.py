"""KRaft: the replicated log of metadata records, as a pure state machine with a thin driver."""

__all__ = ["batches", "driver", "format", "generator", "retention", "snapshot", "voters"]
