"""What is measured, by Kafka's names and by ours: for Prometheus, and for plugins that report."""
