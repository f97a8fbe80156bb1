"""Test kit for this project and for code built on it."""

__all__ = [
    "api_limits",
    "api_names",
    "asgi",
    "broker",
    "checkers",
    "clients",
    "controls",
    "direct",
    "faults",
    "harness",
    "interceptors",
    "machines",
    "planes",
    "processes",
    "recorder",
    "running",
    "sample_apis",
    "scripted_client",
    "simulate",
    "simulation",
]
