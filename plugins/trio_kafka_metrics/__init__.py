"""Metrics under Kafka's names and our own: for Prometheus and for reporters of plugins."""
