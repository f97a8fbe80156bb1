"""A broker with one topic of three partitions."""

from tests.testing.kafka.conftest import kafka

__all__ = ["kafka"]
