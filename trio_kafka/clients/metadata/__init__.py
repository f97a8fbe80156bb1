"""A client's knowledge of its cluster: the cache, which does no I/O, and its refreshing task."""

__all__ = ["cache", "refresh", "values"]
