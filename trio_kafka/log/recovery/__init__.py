"""Recovery of one partition: segments are verified, damage is logged, indexes are rebuilt."""

__all__ = [
    "damage",
    "partition",
    "segment_loader",
]
