"""Kafka's consumer: machines for positions, fetches and groups, and the shells that carry them."""
