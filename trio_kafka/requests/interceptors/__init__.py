"""Interceptors of requests: their registry, and the chains that call them around handlers."""

__all__ = ["before_after", "chains", "registry"]
