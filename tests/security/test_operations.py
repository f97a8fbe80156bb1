"""Operations as bits. The numbers are those that Kafka 4.4 answers with."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.operations import NOT_ASKED, OF_CLUSTER, OF_TOPIC, Operation, bits


def test_operation_bits_of_topic_and_cluster_equal_the_numbers_of_kafka() -> None:
    assert OF_TOPIC == 0b1101_1111_1000 == 3576
    assert OF_CLUSTER == 0b1_1111_1010_0000 == 8096
    assert NOT_ASKED == -2147483648


@given(st.sets(st.sampled_from(Operation)))
def test_each_operation_sets_the_bit_of_its_code(operations: set[Operation]) -> None:
    mask = bits(operations)

    assert {operation for operation in Operation if mask >> operation & 1} == operations
    assert mask < 1 << 16


def test_operation_codes_have_no_gap() -> None:
    assert [int(operation) for operation in Operation] == list(range(16))
