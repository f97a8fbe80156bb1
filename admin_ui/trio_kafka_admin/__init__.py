"""The admin UI: read-only pages about a running broker, each with a JSON twin."""
