"""The built-in API handlers, one file per key; the registry walks this package."""

from trio_kafka_apis.listed import LISTED

__all__ = ["LISTED"]
