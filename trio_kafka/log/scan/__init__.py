"""The reader of log files: batches and damage, for the broker, the log tools and Spark."""

__all__ = ["batches", "index_files", "walk", "whole_batch_search"]
