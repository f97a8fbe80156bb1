"""Coordinators: client state that is kept in internal topics, with one writer for each partition.

Invariant: no answer says anything that a crash could take back.
"""
