"""`trio-kafka produce`: records from lines, JSON lines or files, and their way to a topic."""
