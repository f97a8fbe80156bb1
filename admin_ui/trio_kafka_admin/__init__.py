"""The admin UI: read-only pages about a running broker, each with a JSON twin."""

__all__ = ["broker_reader", "markup", "page", "plugin", "query", "table"]
