"""Index files of a segment: offsets, times, aborted transactions."""

__all__ = [
    "entries",
    "offset",
    "time",
    "transaction",
]
