"""Moves of replicas between the log directories of this broker (KIP-113)."""

__all__ = [
    "copying",
    "mover",
    "moves",
    "pace",
]
