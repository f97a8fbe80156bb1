"""Durability of logs: syncs of one log, of new logs, and the queue of pending syncs."""

__all__ = [
    "sync",
    "sync_queue",
]
