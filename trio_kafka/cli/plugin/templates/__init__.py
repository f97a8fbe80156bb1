"""Files that `trio-kafka plugin new` writes: one module for each kind of plugin."""

__all__ = ["kinds"]
