"""Records of the cluster metadata log, by subject, and their frame."""

__all__ = [
    "brokers",
    "configs",
    "controllers",
    "features",
    "frame",
    "producer_ids",
    "quotas",
    "security",
    "topics",
    "transactions",
]
