"""Commands about groups of consumers: list, describe, lag, members, seek, delete."""
