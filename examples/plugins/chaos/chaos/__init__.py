"""Requests that are late, fail or lose their connection, by rules that change while it runs."""
