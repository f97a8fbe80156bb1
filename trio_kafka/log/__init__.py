"""Logs of partitions: batches in segments, their indexes, and the directories that hold them."""

__all__ = [
    "append",
    "config",
    "decompression",
    "disk_latency",
    "durability",
    "epochs",
    "files",
    "index",
    "log",
    "manager",
    "producer_state",
    "read",
    "recovery",
    "retention",
    "scan",
    "timestamp_search",
    "truncate",
]
