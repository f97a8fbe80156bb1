import pytest

from tests.replication.kit import batch, new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.append import append, append_own
from trio_kafka.replication.leader.transaction_gate import (
    Admissions,
    TransactionAsk,
    admission_error,
    produce_error,
)

SENT = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}


class Gate:
    """Coordinator that admits everything but `errors`."""

    def __init__(self, **errors: ErrorCode) -> None:
        self.errors = {TopicPartition(topic, 0): code for topic, code in errors.items()}
        self.asked: list[TransactionAsk] = []

    def admit(self, ask: TransactionAsk):
        self.asked.append(ask)
        return self.errors


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

    (ask,) = gate.asked
    assert [at.topic for at in ask.partitions] == ["t", "v"]
    assert all(of_request.guard(partition.at) for partition in partitions)


async def test_partition_that_is_not_admitted_has_no_guard_but_an_error(world) -> None:
    partition, _ = new_partition(world)
    of_request = admission(Gate(t=ErrorCode.PRODUCER_FENCED))
    of_request.begin(partition, batch(**SENT))
    of_request.ask()

    with pytest.raises(KafkaError) as caught:
        of_request.guard(partition.at)

    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert of_request.guard(TopicPartition("u", 0)) is None


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
