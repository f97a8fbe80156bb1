"""Access control lists: rules, the index that decides by them, and Kafka's standard authorizer.

Pure: no clock, no task, no part of the broker. `broker.parts.authorizer` feeds the index from the
metadata log. docs/design/authorizer.md describes the index.
"""

__all__ = ["entries", "filters", "hosts", "index", "prefixes", "rules", "standard", "words"]
