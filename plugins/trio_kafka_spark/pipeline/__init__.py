"""Declarative pipelines: a template, and a run of one by `spark-pipelines`."""
