"""Topics and records over HTTP, in JSON: an app on the HTTP plane."""

__all__ = ["plugin"]
