"""Find the batches of aborted transactions, as a consumer with read_committed does.

Source: CompletedFetch of Kafka's consumer: an aborted transaction begins at its first offset and
ends at its producer's abort marker; commit markers end none.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import read_records
from trio_kafka.records.columnar.errors import CorruptBatchError, corrupt_batch
from trio_kafka.records.control import ControlType, control_type
from trio_kafka.records.header import CONTROL, NO_PRODUCER_ID, TRANSACTIONAL, read_header


def find_aborted(
    data: memoryview,
    positions: Sequence[int],
    headers: NDArray[np.void],
    *,
    aborted: Sequence[tuple[int, int]],
) -> tuple[NDArray[np.bool_], CorruptBatchError | None]:
    """Mark which of the batches at `positions` belong to aborted transactions.

    aborted: producer id and first offset of each, as in a Fetch response.
    Also returns an error if the control batch of an aborted producer is invalid. Then the marks of
    later batches mean nothing.
    """
    marks = np.zeros(len(positions), np.bool_)
    pending = sorted(((first, producer) for producer, first in aborted), reverse=True)
    open_producers: set[int] = set()
    for index in np.flatnonzero(headers["producer_id"] != NO_PRODUCER_ID).tolist():
        header = headers[index]
        last = int(header["base_offset"]) + int(header["last_offset_delta"])
        while pending and pending[-1][0] <= last:
            open_producers.add(pending.pop()[1])
        producer, attributes = int(header["producer_id"]), int(header["attributes"])
        if producer not in open_producers:
            continue
        try:
            if attributes & CONTROL and _is_abort_marker(data, positions[index]):
                open_producers.discard(producer)
                continue
        except KafkaError as error:
            return marks, corrupt_batch(error, positions[index])
        marks[index] = attributes & TRANSACTIONAL
    return marks, None


def _is_abort_marker(data: memoryview, position: int) -> bool:
    first = next(read_records(data, position, read_header(data, position)), None)
    return first is not None and control_type(first) is ControlType.ABORT
