"""Coordinators: client state that is kept in internal topics, with one writer for each partition.

Invariant: no client is told anything that a crash could take back.
"""
