"""Transactional producers that are cheap: they speak the requests of a transaction and no more.

One of the older protocol adds its partitions, produces and ends the transaction, as librdkafka,
kafka-python and aiokafka do. One of transaction version 2 produces and ends, as Java's client does.
CONCURRENT_TRANSACTIONS is retried after 20 ms, as all of them do.
"""

import time
from collections.abc import Generator, Sequence
from typing import Any, Final
from uuid import uuid4

from attrs import define, field

from tests.benchmarks import protocol
from tests.benchmarks.dialogues import Dialogue
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest

RENEWING: Final = 2  # transaction version in which each end gives a new epoch
ADD, FIND, INIT = 3, 4, 4  # versions of requests in both protocols
PRODUCE: Final = {1: 9, RENEWING: 12}  # versions by transaction version
END: Final = {1: 1, RENEWING: 5}
BACK_OFF_S: Final = 0.02
_TRANSACTIONAL_ID: Final = 1  # kind of a coordinator
_TIMEOUT_MS: Final = 60_000
_READY_S: Final = 60
_LATER: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


@define(eq=False, kw_only=True)
class TransactionalProducer:
    """One producer. version: transaction.version that it speaks, 1 or 2. values: records of each
    batch, one batch for each partition and transaction.
    """

    topic: str
    partitions: int
    values: Sequence[bytes]
    version: int
    name: str = field(factory=lambda: f"bench-{uuid4().hex[:12]}")
    times: list[float] = field(factory=list)
    _id: int = -1
    _epoch: int = -1
    _sequence: int = 0

    def begin(self) -> Dialogue:
        """Get the producer's id, as soon as there is a coordinator."""
        end = time.monotonic() + _READY_S
        find = FindCoordinatorRequest(key_type=_TRANSACTIONAL_ID, coordinator_keys=[self.name])
        while time.monotonic() < end:
            answer = yield find, FIND
            code = answer.coordinators[0].error_code
            if not code:
                begun = yield InitProducerIdRequest(self.name, _TIMEOUT_MS), INIT
                code = begun.error_code
                if not code:
                    self._id, self._epoch = begun.producer_id, begun.producer_epoch
                    return
            if code not in _LATER:
                raise ValueError(f"{self.name}: {ErrorCode(code).name}")
            yield 0.1
        raise TimeoutError(f"no coordinator for {self.name} in {_READY_S} s")

    def write(self, *, ends: float, count: int | None = None, aborts: int = 0) -> Dialogue:
        """Write transactions until `time.monotonic()` is `ends`, or `count` of them. Every
        `aborts`-th is aborted; 0: none.
        """
        number = 0
        while time.monotonic() < ends and number != count:
            number += 1
            began = time.perf_counter()
            if self.version < RENEWING:
                yield from self._until_done(self._add)
            yield from self._until_done(self._produce)
            yield from self._end(commits=not aborts or number % aborts != 0)
            self.times.append(time.perf_counter() - began)

    def _until_done(self, step: Any) -> Dialogue:
        while (code := (yield from step())) == ErrorCode.CONCURRENT_TRANSACTIONS:
            yield BACK_OFF_S
        if code:
            raise ValueError(f"{self.name}: {step.__name__}: {ErrorCode(code).name}")

    def _add(self) -> Generator[tuple[object, int] | float, Any, int]:
        topics = [AddPartitionsToTxnTopic(self.topic, list(range(self.partitions)))]
        request = AddPartitionsToTxnRequest([], self.name, self._id, self._epoch, topics)
        answer = yield request, ADD
        rows = answer.results_by_topic_v3_and_below[0].results_by_partition
        return max(int(row.partition_error_code) for row in rows)

    def _produce(self) -> Generator[tuple[object, int] | float, Any, int]:
        producer = protocol.BatchProducer(self._id, self._epoch, self._sequence)
        batch = memoryview(protocol.record_batch(self.values, producer=producer))
        data = [PartitionProduceData(number, batch) for number in range(self.partitions)]
        topics = [TopicProduceData(name=self.topic, partition_data=data)]
        request = ProduceRequest(self.name, -1, 30_000, topics)
        answer = yield request, PRODUCE[self.version]
        code = max(int(row.error_code) for row in answer.responses[0].partition_responses)
        if not code:
            self._sequence += len(self.values)
        return code

    def _end(self, *, commits: bool) -> Dialogue:
        request = EndTxnRequest(self.name, self._id, self._epoch, commits)
        answer = yield request, END[self.version]
        if answer.error_code:
            raise ValueError(f"{self.name}: EndTxn: {ErrorCode(answer.error_code).name}")
        if self.version >= RENEWING:
            if (answer.producer_id, answer.producer_epoch) != (self._id, self._epoch):
                self._sequence = 0
            self._id, self._epoch = answer.producer_id, answer.producer_epoch
