"""Blocking client of Spark's drivers and tasks: settings, security, cluster metadata, fetches."""
