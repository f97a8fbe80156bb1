"""Facts of transactions: transactional ids, and transactions that are open in partitions."""

from typing import Literal

from trio_kafka.attributes import frozen

Verdict = Literal["known", "hanging", "unclear"]
"""known: the coordinator will end the transaction. hanging: no coordinator knows it, so nothing
ends it but an operator. unclear: not every coordinator is on this broker, and loaded.
"""


@frozen(kw_only=True)
class TransactionFacts:
    """One transactional id that this broker coordinates.

    state_s: since its state was written last. epoch: of the producer. version: transaction.version
    that the producer speaks. age_s: since the first partition of its transaction; None: none is
    open. left_s: until the coordinator may abort it; None: it does not.
    partitions: topic to partitions, without those that the reader may not see. partitions_total:
    all, as long as the transaction is open.
    waits_for: what its end waits for, in words; empty: nothing. parked: requests that wait until
    its markers are written.
    """

    transactional_id: str
    state: str
    state_s: float
    producer_id: int
    epoch: int
    version: int
    timeout_s: float
    age_s: float | None
    left_s: float | None
    partitions: dict[str, tuple[int, ...]]
    partitions_total: int
    waits_for: str
    parked: int


@frozen(kw_only=True)
class OpenTransactionFacts:
    """Transaction that is open in one partition, whose leader is this broker.

    coordinator_epoch: of the last marker of its producer; -1: none. start: its first offset.
    is_oldest: it holds back the last stable offset of the partition. held: offsets from its start
    to the high watermark, which `read_committed` readers do not get. last_ms: timestamp of the
    last batch of its producer, ago_s: since then.
    transactional_id: None: unknown.
    """

    topic: str
    partition: int
    producer_id: int
    epoch: int
    coordinator_epoch: int
    start: int
    is_oldest: bool
    held: int
    last_ms: int
    ago_s: float
    transactional_id: str | None
    verdict: Verdict


@frozen(kw_only=True)
class OpenTransactions:
    """Open transactions, the hanging ones first, then those whose producer is silent for longest.

    total: more than are listed.
    """

    listed: tuple[OpenTransactionFacts, ...]
    total: int
