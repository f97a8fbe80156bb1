"""`trio-kafka decode`: frames of Kafka's protocol, from hex or from a capture, as JSON."""
