"""Commands `trio-kafka log`: read, check and measure files of logs, without a broker.

They only read, a slice at a time, and work on the files of a running broker too. All of them take
files, directories of partitions, and log directories (`places`).
"""

__all__ = ["dump", "stats", "verify"]
