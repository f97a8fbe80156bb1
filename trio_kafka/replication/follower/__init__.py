"""Follower: append of batches fetched from its leader, truncation of batches that differ.

A fetcher for each leader will ask and call these; there is none yet, as a cluster has one broker.
"""
