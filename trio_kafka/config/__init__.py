"""Settings under Kafka's names: declared as fields, read in layers, checked before the start."""
