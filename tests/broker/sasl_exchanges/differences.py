"""x."""
DIFFERENCES = {}
