"""Metrics pushed to brokers that have subscribed to them (KIP-714): a machine and its task."""

__all__ = ["machine", "payload", "reporter"]
