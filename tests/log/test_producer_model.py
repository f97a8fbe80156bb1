"""Producers against a model that keeps all history: which batches are taken, which are repeats, and
which errors the others get, through restarts and silence.
"""

from collections.abc import Sequence

from attrs import define, field
from hypothesis import example, given
from hypothesis import strategies as st

from tests.log.kit import produced
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_snapshot_format import decode, encode
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.scheduling.chunked_work import whole

SEQUENCES = 1 << 31
Answer = tuple[str, int]  # what became of a batch, and its first offset or its error


@define
class Sent:
    """A batch that was taken."""

    sequence: int
    count: int
    offset: int
    time: int


@define
class ProducerHistory:
    """A producer: its epoch, and all that it sent in it and is still remembered."""

    epoch: int
    sent: list[Sent] = field(factory=list)


class Model:
    """Kafka's rules said once more, slowly."""

    def __init__(self) -> None:
        self.producers: dict[int, ProducerHistory] = {}

    def judge(self, producer: int, epoch: int, sequence: int, count: int, offset: int) -> Answer:
        history = self.producers.get(producer)
        if history is None:
            return "taken", offset
        if epoch < history.epoch:
            return "refused", ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch > history.epoch:
            good = sequence == 0
        else:
            for sent in history.sent[-5:]:
                if (sent.sequence, sent.count) == (sequence, count):
                    return "repeated", sent.offset
            last = history.sent[-1]
            good = sequence == (last.sequence + last.count) % SEQUENCES
        if good:
            return "taken", offset
        return "refused", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def take(self, producer: int, epoch: int, sent: Sent) -> None:
        history = self.producers.get(producer)
        if history is None or history.epoch != epoch:
            history = self.producers[producer] = ProducerHistory(epoch)
        history.sent.append(sent)

    def next_sequence(self, producer: int) -> int:
        history = self.producers.get(producer)
        last = history.sent[-1] if history else Sent(0, 0, 0, 0)
        return (last.sequence + last.count) % SEQUENCES

    def restart(self) -> None:
        """Only the last batch of each producer is written down."""
        for history in self.producers.values():
            del history.sent[:-1]

    def forget(self, silent_since: int) -> None:
        self.producers = {
            producer: history
            for producer, history in self.producers.items()
            if history.sent[-1].time > silent_since
        }


class Subject:
    """The same questions to the code."""

    def __init__(self) -> None:
        self.state = ProducerState()

    def judge(self, producer: int, epoch: int, sequence: int, count: int, offset: int) -> Answer:
        try:
            repeated = self.state.check(produced(producer, epoch, sequence, count - 1))
        except KafkaError as error:
            return "refused", error.code
        return ("taken", offset) if repeated is None else ("repeated", repeated.first_offset)

    def take(self, producer: int, epoch: int, sent: Sent) -> None:
        header = produced(
            producer, epoch, sent.sequence, sent.count - 1, offset=sent.offset, timestamp=sent.time
        )
        self.state.note(header)

    def restart(self) -> None:
        self.state = whole(decode(encode(self.state)))

    def forget(self, silent_since: int) -> None:
        whole(self.state.expire(silent_since))


producers = st.integers(0, 2)
epochs = st.integers(0, 2)
counts = st.integers(1, 3)
sends = st.tuples(
    st.just("send"),
    producers,
    epochs,
    st.integers(-12, 3)  # from the one that comes next: mostly what was sent, or follows
    | st.sampled_from([SEQUENCES - 1, SEQUENCES - 2]),
    counts,
)
runs = st.tuples(st.just("run"), producers, epochs, st.integers(1, 8), counts)
steps = sends | runs | st.just(("restart",)) | st.tuples(st.just("forget"), st.integers(1, 30))


@given(st.lists(steps, max_size=60))
@example([("send", 0, 0, SEQUENCES - 1, 1), ("run", 0, 0, 6, 1), ("send", 0, 0, -5, 1)])
@example([("run", 0, 0, 7, 1), ("send", 0, 0, -5, 1), ("send", 0, 0, -6, 1)])
@example([("run", 0, 1, 6, 1), ("restart",), ("send", 0, 1, -1, 1), ("send", 0, 1, -2, 1)])
def test_batches_are_accepted_repeated_or_refused_as_in_the_model(
    operations: Sequence[tuple[object, ...]],
) -> None:
    model, subject = Model(), Subject()
    time = offset = 0

    def send(producer: int, epoch: int, sequence: int, count: int) -> None:
        nonlocal time, offset
        time += 1
        want = model.judge(producer, epoch, sequence, count, offset)
        assert subject.judge(producer, epoch, sequence, count, offset) == want
        if want[0] == "taken":
            sent = Sent(sequence, count, offset, time)
            model.take(producer, epoch, sent)
            subject.take(producer, epoch, sent)
            offset += count

    for step in operations:
        match step:
            case ("send", int(producer), int(epoch), int(away), int(count)):
                sequence = (model.next_sequence(producer) + away) % SEQUENCES
                send(producer, epoch, sequence, count)
            case ("run", int(producer), int(epoch), int(length), int(count)):
                for _ in range(length):
                    send(producer, epoch, model.next_sequence(producer), count)
            case ("forget", int(ago)):
                model.forget(time - ago)
                subject.forget(time - ago)
            case _:
                model.restart()
                subject.restart()
        assert {producer.producer_id: producer.epoch for producer in subject.state} == {
            producer: history.epoch for producer, history in model.producers.items()
        }
