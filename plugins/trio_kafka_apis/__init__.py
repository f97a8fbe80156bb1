"""Built-in API handlers, one file for each key. The registry finds them in this package."""

from trio_kafka_apis.listed import LISTED

__all__ = ["LISTED"]
