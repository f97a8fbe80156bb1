"""The HTTP plane: serves the ASGI apps that plugins mount, and health checks."""

__all__ = ["plugin"]
