"""Bytes of a connection, sans-IO: frames, headers and answers. Imports no trio and no clock."""

__all__ = ["client", "frame", "server"]
