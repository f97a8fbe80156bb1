"""Commands about replicas: where they are, and moves to other directories and brokers."""
