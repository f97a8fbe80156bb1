"""Transactions of a partition as its batches show them, and check of the transaction indexes.

A consumer that reads committed records skips aborted ones by the transaction index. A missing
entry, or one that begins too late, would show it aborted records.
"""

from collections.abc import Iterator

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli.log.batches import Batch
from trio_kafka.cli.log.entries import DamagedFileError, Entry, read_entries
from trio_kafka.cli.log.findings import Finding, Level
from trio_kafka.cli.log.places import LogFile
from trio_kafka.errors import KafkaError
from trio_kafka.records.control import read_marker


@frozen(kw_only=True)
class Aborted:
    """An aborted transaction. first_offset: None if it began before the log, or was compacted."""

    producer_id: int
    first_offset: int | None
    last_offset: int
    stable_offset: int


@define(kw_only=True)
class Transactions:
    """Transactions that are open, and those that the current segment aborts.

    sure: False after damage, in which markers may have been lost.
    """

    open: dict[int, int] = field(factory=dict)
    aborted: list[Aborted] = field(factory=list)
    sure: bool = True
    committed: int = 0
    aborts: int = 0

    def see(self, batch: Batch) -> None:
        """Take the next batch into account. A damaged marker makes the state unsure."""
        if not batch.header.is_transactional:
            return
        if not batch.header.is_control:
            self.open.setdefault(batch.header.producer_id, batch.base_offset)
            return
        try:
            marker = next((read_marker(record) for record in batch.records()), None)
        except KafkaError:
            self.lose()
            return
        if marker is None:
            return
        first = self.open.pop(batch.header.producer_id, None)
        if marker.committed:
            self.committed += 1
            return
        self.aborts += 1
        self.aborted.append(
            Aborted(
                producer_id=batch.header.producer_id,
                first_offset=first,
                last_offset=batch.last_offset,
                stable_offset=min(self.open.values(), default=batch.last_offset + 1),
            )
        )

    def lose(self) -> None:
        """Forget the open transactions, after damage."""
        self.sure = False
        self.open.clear()

    def check(self, log: LogFile, index: LogFile | None, level: Level) -> Iterator[Finding]:
        """Yield findings about the index of the segment that was seen, and begin a new segment.

        index: None: there is no file. level: of damage in it.
        """
        expected = {transaction.last_offset: transaction for transaction in self.aborted}
        self.aborted = []
        path = log.path.with_suffix(".txnindex") if index is None else index.path

        def finding(text: str, offset: int | None, level: Level = level) -> Finding:
            return Finding(level=level, path=path, text=text, offset=offset)

        try:
            for entry in read_entries(index) if index else ():
                transaction = expected.pop(entry["last_offset"], None)
                if transaction is None or transaction.producer_id != entry["producer_id"]:
                    if self.sure:
                        yield finding(
                            f"no abort marker of producer {entry['producer_id']} is here",
                            entry["last_offset"],
                        )
                    continue
                for text in _differences(entry, transaction):
                    yield finding(text, entry["last_offset"])
        except DamagedFileError as error:
            yield finding(str(error), None)
            return
        for transaction in expected.values():
            if transaction.first_offset is not None and self.sure:
                yield finding(
                    f"the transaction of producer {transaction.producer_id} from offset"
                    f" {transaction.first_offset} was aborted here and has no entry",
                    transaction.last_offset,
                )


def _differences(entry: Entry, transaction: Aborted) -> Iterator[str]:
    first, stable = entry["first_offset"], entry["last_stable_offset"]
    if transaction.first_offset is not None and first > transaction.first_offset:
        yield f"first offset {first}, the transaction began at {transaction.first_offset}"
    if stable > transaction.stable_offset:
        yield f"last stable offset {stable}, it was {transaction.stable_offset}"
