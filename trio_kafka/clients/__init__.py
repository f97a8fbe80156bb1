"""Kafka's clients on Trio: producer, consumer, admin client, and what they share.

    from trio_kafka.clients import ProducerRecord, open_producer

`settings`, `errors`, `metadata.cache`, `bootstrap`, `admin.calls` and the machines of each client
do no I/O. `links` and `metadata.refresh` carry them over the world's network, in the nursery of
`client`. `blocking` is the admin client without Trio.
"""

from typing import TYPE_CHECKING, Final

from trio_kafka.rare_collections import late_names

if TYPE_CHECKING:
    from trio_kafka.clients.admin.opening import Admin as Admin
    from trio_kafka.clients.admin.opening import open_admin as open_admin
    from trio_kafka.clients.consumer.batch import PartitionBatch as PartitionBatch
    from trio_kafka.clients.consumer.consumer import Consumer as Consumer
    from trio_kafka.clients.consumer.groups.listener import RebalanceListener as RebalanceListener
    from trio_kafka.clients.consumer.interceptors import ConsumerInterceptor as ConsumerInterceptor
    from trio_kafka.clients.consumer.opening import open_consumer as open_consumer
    from trio_kafka.clients.consumer.stream import PartitionStream as PartitionStream
    from trio_kafka.clients.consumer.streams import PartitionStreams as PartitionStreams
    from trio_kafka.clients.consumer.values import ConsumerRecord as ConsumerRecord
    from trio_kafka.clients.consumer.values import OffsetAndMetadata as OffsetAndMetadata
    from trio_kafka.clients.consumer.values import OffsetAndTimestamp as OffsetAndTimestamp
    from trio_kafka.clients.group_metadata import GroupMetadata as GroupMetadata
    from trio_kafka.clients.producer.bulk_receipt import BulkReceipt as BulkReceipt
    from trio_kafka.clients.producer.bulk_receipt import FailedRecords as FailedRecords
    from trio_kafka.clients.producer.bulk_receipt import StoredRecords as StoredRecords
    from trio_kafka.clients.producer.interceptors import ProducerInterceptor as ProducerInterceptor
    from trio_kafka.clients.producer.opening import open_producer as open_producer
    from trio_kafka.clients.producer.producer import Producer as Producer
    from trio_kafka.clients.producer.receipt import Receipt as Receipt
    from trio_kafka.clients.producer.record import ProducerRecord as ProducerRecord
    from trio_kafka.clients.producer.record import RecordMetadata as RecordMetadata
    from trio_kafka.clients.producer.transactions.transaction import Transaction as Transaction

# Names by module, imported on first use: a command that uses `blocking` must not import trio.
_NAMES: Final = {
    "admin.opening": ("Admin", "open_admin"),
    "consumer.batch": ("PartitionBatch",),
    "consumer.consumer": ("Consumer",),
    "consumer.groups.listener": ("RebalanceListener",),
    "consumer.interceptors": ("ConsumerInterceptor",),
    "consumer.opening": ("open_consumer",),
    "consumer.stream": ("PartitionStream",),
    "consumer.streams": ("PartitionStreams",),
    "consumer.values": ("ConsumerRecord", "OffsetAndMetadata", "OffsetAndTimestamp"),
    "group_metadata": ("GroupMetadata",),
    "producer.bulk_receipt": ("BulkReceipt", "FailedRecords", "StoredRecords"),
    "producer.interceptors": ("ProducerInterceptor",),
    "producer.opening": ("open_producer",),
    "producer.producer": ("Producer",),
    "producer.receipt": ("Receipt",),
    "producer.record": ("ProducerRecord", "RecordMetadata"),
    "producer.transactions.transaction": ("Transaction",),
}
__all__ = [
    "Admin",
    "BulkReceipt",
    "Consumer",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "FailedRecords",
    "GroupMetadata",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionBatch",
    "PartitionStream",
    "PartitionStreams",
    "Producer",
    "ProducerInterceptor",
    "ProducerRecord",
    "RebalanceListener",
    "Receipt",
    "RecordMetadata",
    "StoredRecords",
    "Transaction",
    "open_admin",
    "open_consumer",
    "open_producer",
]


__getattr__ = late_names(__name__, _NAMES)
