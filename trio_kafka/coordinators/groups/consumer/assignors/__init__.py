"""Server-side assignors: which member reads which partition."""

__all__ = ["registry", "spec"]
