"""What a follower does with the answers of its leader: append what was fetched, cut what differs.

A fetcher for each leader will ask and call these; there is none yet, as a cluster has one broker.
"""
