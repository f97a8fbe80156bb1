"""What Kafka keeps in its own topics and state files."""
