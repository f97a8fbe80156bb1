"""Masking of JSON fields in Fetch responses."""
