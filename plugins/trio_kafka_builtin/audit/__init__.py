"""Audit of changes to the cluster: JSON events in a topic and the log."""

__all__ = ["plugin"]
