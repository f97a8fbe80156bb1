"""Test kit for this project and for code built on it."""

__all__ = [
    "asgi",
    "broker",
    "checkers",
    "clients",
    "direct",
    "fault_rules",
    "faults",
    "harness",
    "interceptors",
    "machines",
    "planes",
    "processes",
    "sample_apis",
    "scripted_client",
    "simulate",
    "simulation",
]
