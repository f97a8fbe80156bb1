"""Client quotas on requests: charges of routes, and throttled connections."""

__all__ = ["charging", "throttle"]
