"""Partitions of this broker: who leads, what is in sync, appends, reads and fetch sessions."""
