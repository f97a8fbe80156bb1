"""Metrics of a client, by Kafka's names: counters that cost an addition, read on demand."""

__all__ = ["measures", "network", "registry"]
