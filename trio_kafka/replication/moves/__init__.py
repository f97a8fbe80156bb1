"""Moves of replicas between the log directories of this broker (KIP-113)."""

__all__ = [
    "alter_log_dirs",
    "copying",
    "directory_assignments",
    "mover",
    "moves",
    "pace",
    "placement",
]
