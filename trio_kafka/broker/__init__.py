"""Puts the parts of a broker together: start, life, stop. Decides nothing."""
