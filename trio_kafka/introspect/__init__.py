"""Introspection: the tree of nodes with figures, log events, metrics and the watchdog."""

__all__ = [
    "channels",
    "families",
    "levels",
    "limiter",
    "log",
    "meter",
    "metrics",
    "recent_requests",
    "request_metrics",
    "share",
    "snapshots",
    "stamps",
    "tree",
    "watchdog",
]
