"""Requests and responses, one module for each API key."""
