import pytest

from tests.replication.kit import batch, new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Work, flattened
from trio_kafka.replication.leader.append import append, append_own, start_offset_after
from trio_kafka.replication.leader.transaction_gate import (
    Admissions,
    TransactionAsk,
    admission_error,
    produce_error,
)
from trio_kafka.scheduling.chunked_work import whole

SENT = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}


class Gate:
    """Coordinator that admits everything but `errors`."""

    def __init__(self, **errors: ErrorCode) -> None:
        self.errors = {TopicPartition(topic, 0): code for topic, code in errors.items()}
        self.questions: list[TransactionAsk] = []

    def admit(self, ask: TransactionAsk):
        self.questions.append(ask)
        return self.errors


class EndingGate(Gate):
    """Coordinator that answers the first question when the markers before have been written."""

    def __init__(self, partition) -> None:
        super().__init__()
        self.partition = partition

    def admit(self, ask: TransactionAsk):
        if not self.questions:
            self.partition.log.producers.verifications.end(ask.producer_id)
        return super().admit(ask)


class LateGate(Gate):
    """Coordinator whose verdict has to wait."""

    def admit(self, ask: TransactionAsk):
        return Work(self._steps(super().admit(ask)))

    def _steps(self, errors):
        yield
        return errors


def admission(gate: Gate, *, adds: bool = False):
    begun = Admissions(gate).begin("tx", adds=adds, knows_generic_errors=adds)
    assert begun is not None
    return begun


def test_requests_without_a_transactional_id_or_a_coordinator_have_no_admission() -> None:
    assert Admissions().begin("tx", adds=True, knows_generic_errors=True) is None
    assert Admissions(Gate()).begin(None, adds=True, knows_generic_errors=True) is None


async def test_partitions_with_an_open_transaction_are_not_asked_for(world) -> None:
    partitions = [new_partition(world, at=TopicPartition(topic, 0))[0] for topic in "tuv"]
    append_own(partitions[1], batch(**SENT), acks=1)
    gate = Gate()
    of_request = admission(gate)
    for partition in partitions:
        of_request.begin(partition, batch(**{**SENT, "base_sequence": 1}))

    assert of_request.ask() is None

    (ask,) = gate.questions
    assert [at.topic for at in ask.partitions] == ["t", "v"]
    assert all(of_request.guard(partition.at) for partition in partitions)


async def test_unverified_batches_begin_a_transaction_without_a_question(world) -> None:
    partition, _ = new_partition(world)
    gate = Gate(t=ErrorCode.PRODUCER_FENCED)
    admissions = Admissions(gate, verifies=False)
    of_request = admissions.begin("tx", adds=False, knows_generic_errors=False)
    adding = admissions.begin("tx", adds=True, knows_generic_errors=True)
    assert of_request is not None
    assert adding is not None
    of_request.begin(partition, batch(**SENT))
    adding.begin(partition, batch(**SENT))

    assert of_request.ask() is None
    assert gate.questions == []
    append(partition, batch(**SENT), acks=1, guard=of_request.guard(partition.at))
    assert partition.local_log().producers.has_open_transaction(7, 0)
    assert adding.verifies


async def test_partition_that_is_not_admitted_has_no_guard_but_an_error(world) -> None:
    partition, _ = new_partition(world)
    of_request = admission(Gate(t=ErrorCode.PRODUCER_FENCED))
    of_request.begin(partition, batch(**SENT))
    of_request.ask()

    with pytest.raises(KafkaError) as caught:
        of_request.guard(partition.at)

    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert of_request.guard(TopicPartition("u", 0)) is None


async def test_batch_of_an_older_epoch_is_rejected_alone_and_without_a_question(world) -> None:
    partitions = [new_partition(world, at=TopicPartition(topic, 0))[0] for topic in "tu"]
    fencing, other = partitions
    append_own(fencing, batch(**{**SENT, "producer_epoch": 1}), acks=1)
    gate = Gate()
    of_request = admission(gate)
    for partition in partitions:
        of_request.begin(partition, batch(**SENT))

    assert of_request.ask() is None

    assert [ask.partitions for ask in gate.questions] == [(other.at,)]
    append(other, batch(**SENT), acks=1, guard=of_request.guard(other.at))
    for guard in of_request.guard, of_request.offsets_guard:
        with pytest.raises(KafkaError) as caught:
            guard(fencing.at)
        assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
        assert start_offset_after(fencing, caught.value) == -1


async def test_batch_that_waited_for_the_markers_before_it_is_verified_anew(world) -> None:
    partition, _ = new_partition(world)
    records, producers = batch(**SENT), partition.log.producers
    gate = LateGate()
    of_request = admission(gate, adds=True)
    of_request.begin(partition, records)
    verdict = of_request.ask()
    producers.verifications.end(7)  # as the marker of the transaction before does

    assert whole(flattened(verdict.steps)) is None

    assert [ask.partitions for ask in gate.questions] == [(partition.at,)] * 2
    append(partition, records, acks=1, guard=of_request.guard(partition.at))
    assert producers.has_open_transaction(7, 0)


async def test_batch_whose_verification_lasted_through_the_wait_is_asked_for_once(world) -> None:
    partition, _ = new_partition(world)
    gate = LateGate()
    of_request = admission(gate, adds=True)
    of_request.begin(partition, batch(**SENT))

    whole(flattened(of_request.ask().steps))

    assert len(gate.questions) == 1


async def test_late_verdict_does_not_verify_a_batch_of_the_older_protocol_anew(world) -> None:
    partition, _ = new_partition(world)
    records = batch(**SENT)
    of_request = admission(LateGate())
    of_request.begin(partition, records)
    verdict = of_request.ask()
    partition.log.producers.verifications.end(7)
    whole(flattened(verdict.steps))

    with pytest.raises(KafkaError) as caught:
        append(partition, records, acks=1, guard=of_request.guard(partition.at))

    assert caught.value.code is ErrorCode.INVALID_TXN_STATE


async def test_new_epoch_for_each_transaction_demands_sequence_zero_of_an_unknown_producer(
    world,
) -> None:
    partition, _ = new_partition(world)
    records = batch(**{**SENT, "base_sequence": 5})
    guards = []
    for adds in (True, False):
        of_request = admission(Gate(), adds=adds)
        of_request.begin(partition, records)
        of_request.ask()
        guards.append(of_request.guard(partition.at))
        partition.log.producers.verifications.end(7)

    of_request = admission(Gate(), adds=True)
    of_request.begin(partition, records)
    with pytest.raises(KafkaError) as caught:
        append(partition, records, acks=1, guard=of_request.guard(partition.at))
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    with pytest.raises(KafkaError) as caught:
        append(partition, records, acks=1, guard=guards[0])  # of a verification that has ended
    assert caught.value.code is ErrorCode.INVALID_TXN_STATE


async def test_batch_that_waited_for_the_markers_of_the_transaction_before_is_asked_for_again(
    world,
) -> None:
    partition, _ = new_partition(world)
    gate = EndingGate(partition)
    of_request = admission(gate, adds=True)
    of_request.begin(partition, batch(**SENT))

    assert of_request.ask() is None

    assert len(gate.questions) == 2
    append(partition, batch(**SENT), acks=1, guard=of_request.guard(partition.at))


async def test_late_batch_of_a_transaction_that_has_ended_is_not_verified_again(world) -> None:
    partition, _ = new_partition(world)
    gate = EndingGate(partition)
    of_request = admission(gate, adds=False)
    of_request.begin(partition, batch(**SENT))
    of_request.ask()

    with pytest.raises(KafkaError) as caught:
        append(partition, batch(**SENT), acks=1, guard=of_request.guard(partition.at))

    assert len(gate.questions) == 1
    assert caught.value.code is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("code", [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.PRODUCER_FENCED])
def test_errors_that_older_clients_do_not_know_are_replaced(code: ErrorCode) -> None:
    older = admission_error(code, knows_generic_errors=False)
    newer = admission_error(code, knows_generic_errors=True)

    assert older in (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH)
    assert newer in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_PRODUCER_EPOCH)


def test_error_of_a_batch_names_the_error_of_the_coordinator() -> None:
    error = produce_error(ErrorCode.NOT_COORDINATOR, adds=True, knows_generic_errors=True)

    assert error.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert "NOT_COORDINATOR" in str(error)
