"""Introspection: the tree of nodes with figures, log events, metrics and the watchdog."""

__all__ = [
    "channels",
    "chrome_trace",
    "facts",
    "families",
    "levels",
    "limiter",
    "log",
    "meter",
    "metrics",
    "recent_requests",
    "recent_share",
    "recording",
    "request_metrics",
    "snapshots",
    "stamps",
    "texts",
    "tree",
    "tree_reader",
    "waits",
    "watchdog",
]
