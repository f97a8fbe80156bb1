"""Requests to other nodes: one session for each connection, and links that carry it.

`session` and what it uses are sans-IO. `link` is for Trio, `blocking` for programs without it.
"""

__all__ = [
    "backoff",
    "blocking",
    "errors",
    "in_flight",
    "link",
    "links",
    "session",
]
