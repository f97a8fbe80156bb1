"""Transaction markers, and the effect of a batch on the state of its producer. Pure.

Source: KIP-98; control records ABORT (0) and COMMIT (1).
"""

from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.records.batch import read_records
from trio_kafka.records.control import read_marker
from trio_kafka.records.header import CONTROL, BatchHeader
from trio_kafka.world.protocols import Buffer

_LARGEST: Final = 64 << 10  # bytes of a control batch: a marker is 20


def note_batch(
    producers: ProducerState, header: BatchHeader, buffer: Buffer, *, position: int
) -> AbortedTransaction | None:
    """Note an appended batch, whole at `position`, in the state of its producer.

    Returns the aborted transaction that it ends, for the transaction index; else None.
    """
    if header.producer_id < 0:
        return None
    if header.attributes & CONTROL:
        return _note_marker(producers, header, buffer, position=position)
    producers.note(header)
    return None


def _note_marker(
    producers: ProducerState, header: BatchHeader, buffer: Buffer, *, position: int
) -> AbortedTransaction | None:
    first = next(read_records(buffer, position, header, limit=_LARGEST), None)
    try:
        marker = None if first is None else read_marker(first)
    except KafkaError:  # an invalid key or value: it ends no transaction
        marker = None
    if marker is None:
        return None
    begun = producers.note_marker(header, marker.coordinator_epoch)
    if begun is None or marker.committed:
        return None
    return AbortedTransaction(
        producer_id=header.producer_id,
        first_offset=begun,
        last_offset=header.base_offset,
        last_stable_offset=producers.first_open_offset(header.base_offset + 1),
    )
