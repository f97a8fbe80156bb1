"""Replicas of this broker: what they are (`partition`, `roles`), where they are found (`table`).

`leader` serves clients and followers, `follower` copies from a leader, `moves` changes directories.
"""

__all__ = [
    "isr",
    "leader",
    "moves",
    "partition",
    "purgatories",
    "roles",
    "settings",
    "table",
    "topic_metrics",
]
