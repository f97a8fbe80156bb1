"""Faults by rule, over HTTP: requests that are late, fail or lose their connection."""
