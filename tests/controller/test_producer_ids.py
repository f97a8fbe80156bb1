"""Blocks of producer ids."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of
from trio_kafka.controller.producer_ids import ProducerIdBlock, allocate
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId

NODE_1 = NodeId(1)


def test_the_next_producer_id_block_begins_where_the_last_ended() -> None:
    decision = allocate(evolve(image_of(broker(1)), next_producer_id=5000), NODE_1, 10)

    assert decision.result == ProducerIdBlock(5000, 1000)
    assert decision.records[0].next_producer_id == 6000


@pytest.mark.parametrize(
    ("node", "epoch", "code"),
    [(1, 9, ErrorCode.STALE_BROKER_EPOCH), (2, 10, ErrorCode.BROKER_ID_NOT_REGISTERED)],
)
def test_an_unregistered_broker_or_old_epoch_gets_no_producer_ids(
    node: int, epoch: int, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        allocate(image_of(broker(1)), NodeId(node), epoch)

    assert caught.value.code is code


def test_allocating_producer_ids_beyond_the_last_id_fails() -> None:
    with pytest.raises(KafkaError):
        allocate(evolve(image_of(broker(1)), next_producer_id=(1 << 63) - 10), NODE_1, 10)
