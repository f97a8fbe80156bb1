"""Readings of the broker that pages share, each as facts, for one principal."""
