"""Group coordinator: members of groups, their assignments and their committed offsets."""

__all__ = [
    "administration",
    "classic",
    "consumer",
    "coordinator",
    "groups",
    "java_compat",
    "lag",
    "offset_values",
    "protocols",
]
