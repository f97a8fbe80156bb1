"""Facts: the state of a broker at one moment as plain values, for those who show it."""
