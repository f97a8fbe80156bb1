"""Batches of a Fetch response that a consumer gives to its application.

Source: CompletedFetch of Kafka's consumer: an aborted transaction begins at its first offset and
ends at its producer's abort marker; commit markers end none.
"""

from collections.abc import Iterable, Iterator

from trio_kafka.records.batch import read_records
from trio_kafka.records.control import ControlType, control_type
from trio_kafka.records.header import BatchHeader, iterate_headers
from trio_kafka.world.protocols import Buffer


def committed_batches(
    data: Buffer, aborted: Iterable[tuple[int, int]] = ()
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each batch but control batches and those of aborted
    transactions.

    aborted: producer id and first offset of each, as in a response to a read_committed Fetch.
    Raises KafkaError(CORRUPT_MESSAGE).
    """
    pending = sorted(((first, producer) for producer, first in aborted), reverse=True)
    aborting: set[int] = set()
    for position, header in iterate_headers(data):
        while pending and pending[-1][0] <= header.last_offset:
            aborting.add(pending.pop()[1])
        if header.is_control:
            if header.producer_id in aborting and _is_abort(data, position, header):
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield position, header


def _is_abort(data: Buffer, position: int, header: BatchHeader) -> bool:
    record = next(read_records(data, position, header), None)
    return record is not None and control_type(record) is ControlType.ABORT
