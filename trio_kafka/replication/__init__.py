"""Replicas of this broker: leaders, in-sync sets, appends, reads and fetch sessions."""

__all__ = [
    "append",
    "append_queue",
    "delayed_produce",
    "fetch",
    "isr",
    "manager",
    "offsets",
    "partition",
    "publisher",
    "read",
    "sessions",
    "settings",
    "topic_metrics",
]
