"""The request log: its settings, its lines and where they are written."""
