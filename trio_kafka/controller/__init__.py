"""Decisions about the cluster: pure functions from an image to records, and their one writer."""
