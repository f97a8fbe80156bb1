"""Replicas of this broker: leaders, in-sync sets, appends, reads and fetch sessions."""
