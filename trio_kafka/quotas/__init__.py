"""Limits on what clients use, and how long a client over its limit is throttled. No I/O."""

__all__ = [
    "accounts",
    "average",
    "bucket",
    "client",
    "connection",
    "limits",
    "mutation",
    "quotas",
    "rate",
    "usage",
]
