"""Requests: handlers by API key, the tasks that call them, and their responses."""

__all__ = [
    "api",
    "authority",
    "config_changes",
    "context",
    "descriptions",
    "error_counting",
    "failures",
    "inspection",
    "interceptors",
    "lazy_arrays",
    "loopback",
    "parts",
    "plugins",
    "pool",
    "registry",
    "replies",
    "request_log",
    "response_cache",
    "rows",
    "throttling",
]
