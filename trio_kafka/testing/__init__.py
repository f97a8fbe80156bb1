"""Test kit for this project and for code built on it."""

__all__ = [
    "asgi",
    "broker",
    "checkers",
    "clients",
    "direct",
    "harness",
    "leaks",
    "loop_thread",
    "machines",
    "planes",
    "processes",
    "pytest_brokers",
    "pytest_plugin",
    "replay",
    "sample_apis",
    "scripted_client",
    "simulate",
    "simulation",
]
