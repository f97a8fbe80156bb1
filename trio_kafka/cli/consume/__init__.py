"""`trio-kafka consume`: where to begin and end, which records, and how they are printed."""
