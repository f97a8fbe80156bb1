"""The HTTP plane: serves the ASGI apps that plugins mount, and says whether the broker is well."""
