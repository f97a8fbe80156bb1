"""`trio-kafka plugin`: plugins of a running broker, installed plugins, and a new one."""

__all__ = ["check", "list", "new", "reload", "template"]
