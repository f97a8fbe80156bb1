"""Interceptors of requests: the registry, and the chain that runs them around a handler."""
