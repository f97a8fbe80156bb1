"""Immutable view of the cluster, built from committed metadata records.

Knows no consensus protocol: records come from a `source.MetadataSource`.
"""

__all__ = [
    "delta",
    "dump",
    "effective",
    "endpoints",
    "features",
    "image",
    "names",
    "progress",
    "publisher",
    "quotas",
    "replay",
    "scram_users",
    "source",
]
