"""Rules: pure functions of two moments, each file for one trouble."""
