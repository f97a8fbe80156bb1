"""A model of a broker's side of one partition, and of a network that loses, delays and doubles."""

from collections import deque
from dataclasses import dataclass, field
from random import Random

from trio_kafka.clients.errors import RetriableError
from trio_kafka.clients.producer.accumulator import Accumulator, BatchLimits
from trio_kafka.clients.producer.batch import OBJECT_BYTES, ProducerBatch
from trio_kafka.clients.producer.buffer_pool import BufferPool
from trio_kafka.clients.producer.delivery import Delivery
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.requests import ProduceAnswer
from trio_kafka.clients.producer.sequences import Identities, Identity
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.backoff import Backoff
from trio_kafka.records.batch import Record, iterate_headers, read_records

MOST = 5  # in flight
_REMEMBERED = 5


@dataclass
class ModelPartition:
    """The log of a partition, with Kafka's rules for sequence numbers. largest: of a batch."""

    largest: int = 1 << 20
    log: list[bytes] = field(default_factory=list)
    epoch: int = -1
    producer_id: int = -1
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def append(self, data: bytes) -> ProduceAnswer:
        ((at, header),) = iterate_headers(data)
        values = [record.value or b"" for record in read_records(data, at, header)]
        first, last = header.base_sequence, header.base_sequence + header.count - 1
        if len(data) > self.largest:
            return ProduceAnswer(code=ErrorCode.MESSAGE_TOO_LARGE)
        if any(value.endswith(b"!") for value in values):
            return ProduceAnswer(code=ErrorCode.INVALID_RECORD)
        if header.producer_id == self.producer_id:
            if header.producer_epoch < self.epoch:
                return ProduceAnswer(code=ErrorCode.INVALID_PRODUCER_EPOCH)
            if header.producer_epoch > self.epoch:
                if first:
                    return ProduceAnswer(code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
                self.batches.clear()
            for begin, end, offset in self.batches:
                if (begin, end) == (first, last):
                    return ProduceAnswer(code=ErrorCode.NONE, base_offset=offset)
            if self.batches and first != self.batches[-1][1] + 1:
                return ProduceAnswer(code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.producer_id, self.epoch = header.producer_id, header.producer_epoch
        self.batches.append((first, last, len(self.log)))
        self.log += values
        return ProduceAnswer(code=ErrorCode.NONE, base_offset=len(self.log) - len(values))


class Run:
    """A producer's machines, driven by a seed, against a model partition."""

    def __init__(self, seed: int, *, largest: int = 1 << 20, expires_s: float = 30.0) -> None:
        self.chance = Random(seed)
        self.partition = ModelPartition(largest)
        self.now = 0.0
        self.accumulator = Accumulator(
            limits=BatchLimits(size=200, linger_s=0.5, expires_s=expires_s),
            pool=BufferPool(1 << 20),
            identities=Identities(Identity(7, 0)),
        )
        self.delivery = Delivery(
            accumulator=self.accumulator,
            retries=1 << 30,
            backoff=Backoff(0.1, 1.0),
            chance=self.chance.random,
        )
        self.receipts: dict[bytes, Receipt] = {}
        self.requests: deque[tuple[ProducerBatch, bytes]] = deque()
        self.answers: deque[tuple[ProducerBatch, ProduceAnswer]] = deque()
        self.restarts = 0
        self.late: list[bytes] = []  # of connections that have ended: they may still arrive

    def send(self) -> None:
        value = b"%d" % len(self.receipts) + (b"!" if self.chance.random() < 0.1 else b"")
        size = len(value) + 30
        assert self.accumulator.pool.try_take(size + OBJECT_BYTES)
        queue = self.accumulator.queue_of("t", 0)
        batch, number = self.accumulator.add(queue, Record(-1, 1, None, value), size, self.now)
        self.receipts[value] = Receipt(batch, number, 1)

    def drain(self) -> None:
        if len(self.requests) + len(self.answers) >= MOST:
            return
        ready = self.accumulator.look(self.now, lambda *_: 1)
        for queues in ready.by_node.values():
            for batch in self.accumulator.drain(queues, 1 << 20):
                self.requests.append((batch, bytes(self.accumulator.close_batch(batch))))

    def serve(self) -> None:
        if not self.requests:
            return
        batch, data = self.requests.popleft()
        dice = self.chance.random()
        if dice < 0.1:
            answer = ProduceAnswer(code=ErrorCode.NOT_ENOUGH_REPLICAS)
        else:
            answer = self.partition.append(data)
            if dice < 0.2 and not answer.code:
                answer = ProduceAnswer(code=ErrorCode.REQUEST_TIMED_OUT)
            elif dice < 0.3 and not answer.code:
                answer = ProduceAnswer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.answers.append((batch, answer))

    def answer(self) -> None:
        if self.answers:
            batch, answer = self.answers.popleft()
            self.delivery.answered(batch, answer, self.now, broker="broker 1")

    def disconnect(self) -> None:
        self.late += [data for _, data in self.requests]
        batches = [batch for batch, _ in (*self.answers, *self.requests)]
        self.answers.clear()
        self.requests.clear()
        for batch in batches:
            self.delivery.lost(
                batch, RetriableError("the connection was lost", sent=True), self.now
            )

    def arrive_late(self) -> None:
        if self.late:
            self.partition.append(self.late.pop(self.chance.randrange(len(self.late))))

    def restart(self) -> None:
        """End the connection; a broker that was restarted knows the latest batch alone."""
        self.disconnect()
        self.restarts += 1
        while len(self.partition.batches) > 1:
            self.partition.batches.popleft()

    def wait(self) -> None:
        self.now += self.chance.random()
        self.delivery.expire(self.now)

    def run(self, steps: int, *, faults: bool = True, restarts: bool = False) -> None:
        often = [self.send, self.drain, self.serve, self.answer]
        rare = [self.disconnect, self.arrive_late, self.wait, self.wait]
        rare += [self.restart] * restarts
        for _ in range(steps):
            self.chance.choice(often * 3 + (rare if faults else [self.wait]))()

    def finish(self) -> None:
        """Let everything end, without more faults."""
        self.accumulator.is_closing = True
        for _ in range(2000):
            if not self.accumulator.is_active:
                break
            self.now += 0.3
            self.drain()
            while self.requests:
                batch, data = self.requests.popleft()
                self.answers.append((batch, self.partition.append(data)))
            while self.answers:
                self.answer()
            self.delivery.expire(self.now)
        while self.late:
            self.arrive_late()
