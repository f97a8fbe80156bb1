"""`trio-kafka config`: explain, check and compare settings."""

__all__ = ["diff", "explain", "lint"]
