"""Plugins: what they declare, their lives, and what they contribute to a broker."""
