"""A Kafka broker as one tree of structured concurrency."""
