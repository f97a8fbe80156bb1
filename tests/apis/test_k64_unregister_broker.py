"""UnregisterBroker: a broker that has left for good."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.controller.brokers import NewBroker
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k64_unregister_broker import UnregisterBrokerRequest


@pytest.mark.parametrize(
    ("node", "code", "text"),
    [
        (1, ErrorCode.INVALID_REQUEST, "broker 1 is alive"),
        (7, ErrorCode.BROKER_ID_NOT_REGISTERED, "broker 7 is not registered"),
    ],
)
async def test_broker_that_is_alive_or_unknown_is_not_removed(
    autojump_clock: MockClock, node: int, code: ErrorCode, text: str
) -> None:
    async with broker() as served:
        answer = await served.ask(UnregisterBrokerRequest(node), 0)
        await served.create_topic("t")

    assert answer.error_code == code
    assert text in (answer.error_message or "")


async def test_broker_that_has_stopped_is_removed(autojump_clock: MockClock) -> None:
    async with broker() as served:
        parts = served.broker.parts
        new = NewBroker(
            id=NodeId(2),
            incarnation_id=b"i" * 16,
            cluster_id=parts.cluster_id,
            features=SUPPORTED,
            log_dirs=(b"d" * 16,),
        )
        await parts[Controller].register_broker(new)
        early = await served.ask(UnregisterBrokerRequest(2), 0)
        await trio.sleep(30)
        answer = await served.ask(UnregisterBrokerRequest(2), 0)
        registered = list(parts.metadata.image.brokers)

    assert early.error_code == ErrorCode.INVALID_REQUEST
    assert (answer.error_code, answer.error_message) == (0, None)
    assert registered == [1]
