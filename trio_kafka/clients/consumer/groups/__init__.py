"""Groups of consumers: their coordinator, commits, and membership by both protocols."""
