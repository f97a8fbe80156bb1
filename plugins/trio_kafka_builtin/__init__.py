"""Built-in plugins, disabled until a setting enables them."""
