"""How logs become durable: syncs of one log, of new logs, and the queue of pending syncs."""
