"""All logs of a broker: their directories, loading, identity, removal and maintenance."""

__all__ = [
    "description",
    "directory",
    "identity",
    "loading",
    "log_manager",
    "log_table",
    "maintenance",
    "meta_properties",
]
