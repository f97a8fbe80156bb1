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
    "recent_share",
    "request_metrics",
    "snapshots",
    "stamps",
    "texts",
    "tree",
    "tree_reader",
    "watchdog",
]
