"""Request log: one line per request, written to the broker's log, a file or a topic."""

__all__ = ["lines", "log", "sinks"]
