"""Which connections are admitted: limits, gates of listeners, overrides by host, eviction."""
