"""Assignors of classic groups: the leader of a group computes the assignment of all. No I/O."""
