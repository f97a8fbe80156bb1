"""Start of a broker: parts and planes, step by step."""

__all__ = ["serving", "startup"]
