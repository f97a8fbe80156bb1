"""Metrics under Kafka's names and our own: for Prometheus and for reporters of plugins."""

__all__ = ["document", "metric_values", "plugin"]
