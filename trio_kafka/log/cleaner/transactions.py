"""Transactions met while a log is read from its beginning to its end.

Records of aborted transactions go at once. A marker must outlive the batches of its transaction,
so it may go only if none was read between the last marker of its producer and itself. An aborted
transaction stays in the transaction index as long as its marker.
Source: Kafka's rules for cleaned transaction metadata (KIP-98).
"""

from collections import deque
from collections.abc import Iterable
from operator import attrgetter

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.records.control import ControlType
from trio_kafka.records.header import BatchHeader


@define(eq=False)
class Transactions:
    """State of one pass.

    retained: aborted transactions whose marker stays, in the order of their markers; emptied by the
        caller for each new segment.
    """

    retained: list[AbortedTransaction] = field(factory=list, init=False)
    _ahead: deque[AbortedTransaction]
    _committed: set[int] = field(factory=set, init=False)
    # By producer: the transaction, and whether one of its batches was read.
    _aborted: dict[int, tuple[AbortedTransaction, bool]] = field(factory=dict, init=False)

    @classmethod
    def since(cls, aborted: Iterable[AbortedTransaction], start: int) -> "Transactions":
        """Return the state of a pass that begins with offset `start`."""
        ahead = sorted(
            (transaction for transaction in aborted if transaction.last_offset >= start),
            key=attrgetter("first_offset"),
        )
        return cls(deque(ahead))

    def _reach(self, offset: int) -> None:
        """Begin the aborted transactions up to `offset`."""
        ahead = self._ahead
        while ahead and ahead[0].first_offset <= offset:
            transaction = ahead.popleft()
            self._aborted.setdefault(transaction.producer_id, (transaction, False))

    def see_data(self, header: BatchHeader) -> bool:
        """Note a batch of data. Return whether it belongs to an aborted transaction."""
        if self._ahead:
            self._reach(header.last_offset)
        if not header.is_transactional:
            return False
        producer_id = header.producer_id
        begun = self._aborted.get(producer_id)
        if begun is None:
            self._committed.add(producer_id)
            return False
        self._aborted[producer_id] = (begun[0], True)
        return True

    def see_control(self, header: BatchHeader, kind: ControlType | None) -> bool:
        """Note a control batch whose first record has this type. Return whether it may go.

        header: `count` 0 is a batch that was emptied before; `kind` does not matter then.
        """
        if self._ahead:
            self._reach(header.last_offset)
        if not header.count:
            return True
        producer_id = header.producer_id
        if kind is ControlType.ABORT:
            transaction, seen = self._aborted.pop(producer_id, (None, False))
            if transaction is None or not seen:
                return True
            self.retained.append(transaction)
            return False
        if kind is ControlType.COMMIT:
            if producer_id not in self._committed:
                return True
            self._committed.remove(producer_id)
        return False
