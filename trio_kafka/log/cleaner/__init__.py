"""Compaction: remove the records whose key has a later one."""

__all__ = ["cleaning", "job"]
