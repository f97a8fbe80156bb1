"""`trio-kafka cert`: certificates for development."""
