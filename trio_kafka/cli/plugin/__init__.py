"""`trio-kafka plugin`: those of a broker, those that are installed, and a new one."""
