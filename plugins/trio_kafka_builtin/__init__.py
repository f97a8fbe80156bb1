"""Built-in plugins, disabled until a setting enables them."""

__all__ = ["asgi_json", "audit", "faults", "mask", "pipelines", "rest_gateway"]
