"""Commands `trio-kafka txn`: show transactions, find those that hang, and end them.

They use Kafka's own requests, so they work with Apache Kafka, too. The admin client finds the
brokers that know the answers.
"""

__all__ = [
    "abort",
    "describe",
    "find_hanging",
    "list",
    "partition_producers",
    "producers",
    "remedies",
]
