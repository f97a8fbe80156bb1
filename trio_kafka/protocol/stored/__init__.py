"""Contents of Kafka's internal topics and state files."""

__all__ = ["consumer_protocol", "control", "groups", "metadata", "quorum_state"]
