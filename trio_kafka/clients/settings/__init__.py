"""Settings of Kafka's clients: one field each, by Kafka's names, and what has no effect here."""

__all__ = ["common", "consumer", "load", "producer", "without_effect"]
