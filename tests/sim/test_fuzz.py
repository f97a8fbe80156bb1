"""Any messages for the handlers of a whole broker in virtual time: hypothesis looks for the few
requests that a handler cannot bear.

What takes bytes rather than messages is in tests/e2e/test_fuzz.py.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from attrs import define
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.e2e.frames import TOPICS, Sent, Speaker, request_classes
from tests.e2e.fuzz import error_codes
from tests.protocol.declared import messages_of
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.registry import installed_apis
from trio_kafka.testing.broker import ServedBroker, newest, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient, request_frame
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.clock import EPOCH
from trio_kafka.world.simulated import Universe

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

CREATES = {19, 37}  # any number of partitions would be made, up to the controller's bound
PATIENCE_S = 60.0  # of a client in virtual time: a fetch may wait for 24 days
SERVED = tuple(
    (cls, version)
    for key, cls in sorted(request_classes().items())
    if key in {api.key for api in installed_apis()}
    for version in range(message_of(cls).versions[0], newest(cls) + 1)
)


def say(draw: st.DrawFn, cls: type[Any], version: int, correlation: int) -> Sent:
    """Any message of that kind, or one that makes sense."""
    key = message_of(cls).key
    assert key is not None
    if key in CREATES or draw(st.booleans()):
        speaker = Speaker(draw(st.randoms(use_true_random=False)), IDS, int(EPOCH * 1000))
        return speaker.say(key, version, correlation)
    request = draw(messages_of(cls, version))
    data = request_frame(request, version, correlation=correlation)
    return Sent(key=key, version=version, correlation=correlation, data=data, request=request)


@st.composite
def conversations(draw: st.DrawFn) -> Sequence[Sent]:
    """Requests of one client, one after the other: some that make sense, and any others."""
    number = draw(st.integers(1, 6))
    return [say(draw, *draw(st.sampled_from(SERVED)), correlation) for correlation in range(number)]


@st.composite
def all_versions(draw: st.DrawFn, cls: type[Any]) -> Sequence[Sent]:
    """A message of each version of one request."""
    return [
        say(draw, *entry, correlation)
        for correlation, entry in enumerate(SERVED)
        if entry[0] is cls
    ]


IDS = [bytes([n]) * 16 for n in range(len(TOPICS))]


@define(eq=False)
class Complaints(logging.Handler):
    """Errors in the log of the broker."""

    def __attrs_pre_init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(logging.Formatter().format(record))


@contextmanager
def no_complaints() -> Iterator[None]:
    handler, logger = Complaints(), logging.getLogger("trio_kafka")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert handler.said == []


@given(conversations(), st.booleans())
@settings(suppress_health_check=list(HealthCheck))
def test_any_sequence_of_messages_is_handled_and_leaves_no_state_behind(
    said: Sequence[Sent], moody: bool
) -> None:
    async def live(universe: Universe) -> None:
        async with served_broker(universe.machine("broker")) as served:
            for name in TOPICS[:3]:
                await served.create_topic(name)
            async with served.connect() as client:
                with trio.move_on_after(PATIENCE_S):
                    await talk(served, client, said)
            await trio.sleep(1)
            assert left_over(served) == {}

    with no_complaints():
        run_simulated(live, moody=moody)


@pytest.mark.parametrize("cls", sorted({cls for cls, _ in SERVED}, key=str))
@settings(max_examples=settings.default.max_examples // 50, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_any_request_in_every_version_of_every_api_is_handled(cls: type[Any], draw: Any) -> None:
    async def live(universe: Universe) -> None:
        async with served_broker(universe.machine("broker")) as served:
            for name in TOPICS[:3]:
                await served.create_topic(name)
            for message in draw.draw(all_versions(cls)):
                async with served.connect() as client:
                    with trio.move_on_after(PATIENCE_S):
                        await talk(served, client, [message])
            await trio.sleep(1)
            assert left_over(served) == {}

    with no_complaints():
        run_simulated(live)


async def talk(served: ServedBroker, client: ScriptedClient, said: Sequence[Sent]) -> None:
    """AssertionError for an answer that none should get, and for none where there should be one."""
    for message in said:
        try:
            await client.send(message.data)
            if not message.answered:
                continue
            answer = await client.receive_frame()
        except (EOFError, ConnectionError):  # a reset where it had sent more meanwhile
            # A write without acks that failed ends its connection.
            assert any(not earlier.answered for earlier in said[: message.correlation])
            assert served.closed("forbidden") == 1
            return
        codes = [ErrorCode(code) for code in error_codes(message.read(answer))]
        if getattr(message.request, "isolation_level", 0) in {0, 1}:
            assert ErrorCode.UNKNOWN_SERVER_ERROR not in codes, message.request


def left_over(served: ServedBroker) -> dict[str, Any]:
    """Remains of clients that have left, as counts; empty but for the client that stays."""
    rows = [(node.kind, node.name, node.figures()) for _, node in served.broker.node.walk()]
    result = {
        "connections": sum(kind == "connection" for kind, _, _ in rows) - 1,
        "waiting": sum(int(row["waiting"] or 0) for k, _, row in rows if k == "purgatory"),
        "parked": sum(int(row.get("parked") or 0) for k, _, row in rows if k == "nursery"),
        "depth": sum(int(row["depth"] or 0) for kind, _, row in rows if kind == "channel"),
        "borrowed": sum(int(row["borrowed"] or 0) for kind, _, row in rows if kind == "limiter"),
    }
    return {name: count for name, count in result.items() if count}
