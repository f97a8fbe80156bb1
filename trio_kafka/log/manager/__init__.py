"""All logs of a broker: their directories, loading, identity, removal and maintenance."""

__all__ = [
    "description",
    "directory",
    "future_logs",
    "identity",
    "loading",
    "log_manager",
    "maintenance",
    "meta_properties",
]
