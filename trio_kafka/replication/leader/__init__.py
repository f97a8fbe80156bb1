"""Leader: appends with their acknowledgement, reads, fetch sessions, deletions."""

__all__ = [
    "append",
    "delete_records",
    "fetch",
    "fetches",
    "markers",
    "offsets",
    "read",
    "session_cache",
    "sessions",
    "transaction_gate",
]
