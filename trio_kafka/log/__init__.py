"""Logs of partitions: batches in segments, their indexes, and the directories that hold them."""
