"""Requests from within the broker: plugins ask through the routes of the data plane."""

__all__ = ["endpoint", "exchange", "in_process"]
