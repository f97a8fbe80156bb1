"""Reading topics: options, offsets, how a read is cut into tasks, and the two readers of Spark."""
