"""Delay, fail or disconnect requests, by rules in a file."""
