"""Test controls over HTTP: fault rules, recorded requests, limits of API versions."""

__all__ = ["plugin"]
