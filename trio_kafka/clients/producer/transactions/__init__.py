"""Transactions of a producer: their state, their requests to coordinators, and what users write."""

__all__ = ["coordinator", "machine", "transaction"]
