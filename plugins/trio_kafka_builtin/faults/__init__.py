"""Fault injection by rules over HTTP: delays, errors, disconnects."""

__all__ = ["plugin"]
