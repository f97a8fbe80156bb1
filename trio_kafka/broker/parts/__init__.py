"""Parts that the start of a broker puts together: quorum, groups, quotas, plugins and others."""

__all__ = [
    "connections",
    "features",
    "groups",
    "plugins",
    "producer_ids",
    "quorum",
    "quotas",
    "request_log",
    "topic_creation",
    "watchdog",
]
