"""`trio-kafka config`: what settings mean, what is wrong with them, how they differ."""
