"""Controls of a running broker for tests, in process or by the plugin `faults`."""

__all__ = [
    "api_limits",
    "api_names",
    "ask",
    "clients",
    "clock",
    "controls",
    "faults",
    "groups",
    "interceptors",
    "keywords",
    "recorder",
    "running",
    "topics",
    "values",
]
