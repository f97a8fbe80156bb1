"""The `kafka.*` options of Spark's reads and writes, by subject; `table` holds all of them."""
