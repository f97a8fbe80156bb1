"""Group coordinator: members of groups, their assignments and their committed offsets."""

__all__ = [
    "administration",
    "classic",
    "consumer",
    "coordinator",
    "facts",
    "groups",
    "lag",
    "offset_values",
    "protocols",
    "stored_records",
    "transactions",
]
