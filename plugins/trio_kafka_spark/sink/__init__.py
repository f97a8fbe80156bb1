"""Rows to topics: the columns and options of the sink, the choice of partitions, the writers."""
