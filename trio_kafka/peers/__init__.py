"""Requests to other nodes: one session for each connection, and links that carry it.

`session` and what it uses are sans-IO. `link` is for Trio, `blocking` and `blocking_links`
are for programs without it.
"""

__all__ = [
    "backoff",
    "blocking",
    "blocking_links",
    "blocking_tls",
    "errors",
    "in_flight",
    "link",
    "links",
    "sasl",
    "session",
]
