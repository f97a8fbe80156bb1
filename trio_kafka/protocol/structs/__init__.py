"""Structs that several messages and stored records have in common."""

__all__ = ["cluster", "groups", "share", "streams"]
