"""Built-in plugins, disabled until a setting enables them."""

__all__ = ["audit", "faults", "mask", "pipelines", "rest_gateway"]
