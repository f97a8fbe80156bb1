"""Decisions about the cluster: pure functions from an image to records, and their single writer.

`controller.Controller` is the entry point. One module holds one kind of decision.
"""

__all__ = [
    "acls",
    "brokers",
    "config_admin",
    "configs",
    "controller",
    "decision",
    "features",
    "policies",
    "producer_ids",
    "quotas",
    "scram",
    "tokens",
    "topics",
]
