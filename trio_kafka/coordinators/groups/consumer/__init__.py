"""Consumer groups (KIP-848): members send heartbeats, the coordinator assigns and reconciles."""

__all__ = ["assignors", "regex_pattern", "values"]
