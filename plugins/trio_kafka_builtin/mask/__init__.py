"""Masking of JSON fields in Fetch responses."""

__all__ = ["plugin"]
