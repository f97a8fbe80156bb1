"""Plugin host: discovery, lifecycle, reload and guarding of plugins.

A plugin declares an async context manager. Each run of it is a generation, whose contributions
(APIs, interceptors, apps, pages, policies, reporters, assignors) the broker uses while it is ready.
"""

__all__ = [
    "broker_access",
    "changed_batches",
    "client_access",
    "contributions",
    "declaration",
    "dependencies",
    "discovery",
    "group_access",
    "guard",
    "host",
    "lifecycle",
    "mounts",
    "pages",
    "plugin_check",
    "settings",
    "state_access",
    "topic_access",
    "transaction_access",
]
