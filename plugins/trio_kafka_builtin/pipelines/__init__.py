"""Pipelines as children of the broker: processes that end with it, and their progress."""

__all__ = ["plugin"]
