"""Replicas of this broker: leaders, in-sync sets, appends, reads and fetch sessions."""

__all__ = [
    "alter_log_dirs",
    "append",
    "append_queue",
    "delayed_produce",
    "delete_records",
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
