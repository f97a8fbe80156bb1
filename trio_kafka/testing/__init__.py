"""Test kit for this project and for code built on it."""

__all__ = [
    "asgi",
    "broker",
    "direct",
    "fault_rules",
    "faults",
    "harness",
    "interceptors",
    "leaks",
    "loop_thread",
    "machines",
    "planes",
    "processes",
    "pytest_brokers",
    "pytest_plugin",
    "sample_apis",
    "scripted_client",
    "simulation",
]
