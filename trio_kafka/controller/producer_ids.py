"""Producer ids: given to brokers in blocks, and never twice (KIP-730)."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controller.brokers import check_epoch
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord

BLOCK: Final = 1000
_END: Final = (1 << 63) - 1


@frozen
class ProducerIdBlock:
    """Block of `length` ids from `first` on."""

    first: int
    length: int = BLOCK


def allocate(image: MetadataImage, broker_id: NodeId, epoch: int) -> Decision[ProducerIdBlock]:
    """Return the next block. Raises KafkaError as `check_epoch`, or UNKNOWN_SERVER_ERROR."""
    check_epoch(image, broker_id, epoch)
    first = image.next_producer_id
    if first > _END - BLOCK:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids are used")
    record = ProducerIdsRecord(
        broker_id=broker_id, broker_epoch=epoch, next_producer_id=first + BLOCK
    )
    return Decision(ProducerIdBlock(first), [record])
