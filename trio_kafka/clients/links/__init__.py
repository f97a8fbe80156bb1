"""Connections of a client to the brokers of its cluster, with several requests in flight each."""

__all__ = ["calls", "connection", "link", "links"]
