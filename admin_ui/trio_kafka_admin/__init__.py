"""The admin UI: read-only pages about a running broker, each also as JSON."""

__all__ = ["broker_reader", "markup", "page", "plugin", "query", "table"]
