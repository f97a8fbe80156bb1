"""Coordinators: client state that is kept in internal topics, with one writer for each partition.

`shards` is the generic half, `groups` the coordinator of groups, `transactions` that of
transactional ids. Invariant: no answer says anything
that a crash could take back.
"""

__all__ = ["groups", "shards", "transactions"]
