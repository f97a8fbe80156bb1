"""Admission of connections: limits, admission by listener, overrides by host, eviction."""

__all__ = ["limits", "listener_admission"]
