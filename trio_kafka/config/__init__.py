"""Settings with Kafka's names: declared as fields, read in layers, checked before the start."""

__all__ = [
    "broker",
    "catalogue",
    "change_rules",
    "connections",
    "dynamic",
    "endpoints",
    "group",
    "group_coordinator",
    "listener_overrides",
    "load",
    "plugins",
    "properties",
    "report",
    "rules",
    "setting",
    "sources",
    "topic",
    "trio_settings",
    "unsupported",
    "values",
]
