"""The built-in API handlers, one file per key; the registry walks this package."""
