"""Durability of logs: syncs of one log, of new logs, and the queue of pending syncs."""
