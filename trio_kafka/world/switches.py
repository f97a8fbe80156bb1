"""Switches of the environment, read when a module is imported: before there are settings."""

import os


def is_off(variable: str) -> bool:
    """Return whether an environment variable is "off", "no", "false" or "0"."""
    return os.environ.get(variable, "").strip().lower() in {"off", "no", "false", "0"}
