"""Sources of settings: TOML files, environment variables, providers of secrets."""

__all__ = [
    "environment",
    "providers",
    "toml",
]
