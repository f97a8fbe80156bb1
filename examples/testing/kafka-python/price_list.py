"""A price list in a topic: the last record of a product has its price, an empty one ends it."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


def set_price(bootstrap: str, product: str, price: int | None) -> None:
    """Set the price of a product; None: it is no longer sold."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    try:
        value = None if price is None else str(price).encode()
        producer.send("prices", value, product.encode()).get(timeout=10)
    finally:
        producer.close()


def read_prices(bootstrap: str) -> dict[str, int]:
    """Return the present prices by product."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    try:
        numbers = consumer.partitions_for_topic("prices") or set()
        partitions = [TopicPartition("prices", number) for number in numbers]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        prices: dict[str, int] = {}
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    product = record.key.decode()
                    prices.pop(product, None)
                    if record.value is not None:
                        prices[product] = int(record.value)
        return prices
    finally:
        consumer.close()
