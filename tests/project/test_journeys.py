"""A request takes few steps: calls, files and changes of file on its way through the broker."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from attrs import define, field
from trio.testing import MockClock

from tests.apis.kit import produce_request
from tests.project.tree import ROOT
from tests.records.kit import encode_batch
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.records.batch import Record
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

OWN = tuple(str(ROOT / root) for root in ("trio_kafka", "plugins"))
WORLD = str(ROOT / "trio_kafka" / "world")  # the simulated one takes more steps than the real one
FIRST, LAST = "Framer.received", "Writer.answer"
VERSION = 11
MOST_CALLS, MOST_FILES, MOST_ENTRIES = 38, 22, 28
CONFIGS_VERSION = 1
MOST_CONFIG_CALLS, MOST_CONFIG_FILES, MOST_CONFIG_ENTRIES = 385, 76, 260


def is_own(file: str) -> bool:
    return file.startswith(OWN) and not file.startswith(WORLD)


@define
class Journey:
    """Own functions that ran between two calls. entries: calls from another file."""

    calls: list[str] = field(factory=list)
    files: set[str] = field(factory=set)
    entries: int = 0
    is_running: bool = False

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """See `sys.setprofile`."""
        del argument
        code = frame.f_code
        if event != "call" or not is_own(code.co_filename):
            return
        if code.co_qualname == FIRST:
            self.calls.clear()
            self.files.clear()
            self.entries, self.is_running = 0, True
        if self.is_running:
            self.calls.append(code.co_qualname)
            self.files.add(code.co_filename)
            caller = frame.f_back
            self.entries += caller is None or caller.f_code.co_filename != code.co_filename
        if code.co_qualname == LAST:
            self.is_running = False


@contextmanager
def traced() -> Iterator[Journey]:
    journey = Journey()
    sys.setprofile(journey.profile)
    try:
        yield journey
    finally:
        sys.setprofile(None)


def small_produce() -> ProduceRequest:
    batch = memoryview(bytearray(encode_batch([Record(value=b"v")])))
    return produce_request("t", (0, batch), acks=-1)


def new_retention(milliseconds: int) -> IncrementalAlterConfigsRequest:
    setting = AlterableConfig(name="retention.ms", config_operation=0, value=str(milliseconds))
    topic = AlterConfigsResource(resource_type=2, resource_name="t", configs=[setting])
    return IncrementalAlterConfigsRequest(resources=[topic])


async def test_a_small_produce_takes_at_most_so_many_calls_files_and_entries(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served, served.connect() as client:
        await served.create_topic("t")
        for _ in range(3):  # the first ones compile codecs
            await client.ask(small_produce(), VERSION)
        with traced() as journey:
            await client.ask(small_produce(), VERSION)

    assert len(journey.calls) <= MOST_CALLS
    assert len(journey.files) <= MOST_FILES
    assert journey.entries <= MOST_ENTRIES


async def test_one_changed_topic_setting_takes_at_most_so_many_calls_files_and_entries(
    autojump_clock: MockClock,
) -> None:
    """Counted in all tasks: handler, controller, metadata log and its sync, publishers, answer."""
    async with served_broker(simulated_world()) as served, served.connect() as client:
        await served.create_topic("t")
        for retention_ms in range(3):  # the first ones compile codecs
            await client.ask(new_retention(1000 + retention_ms), CONFIGS_VERSION)
        with traced() as journey:
            await client.ask(new_retention(2000), CONFIGS_VERSION)

    assert len(journey.calls) <= MOST_CONFIG_CALLS
    assert len(journey.files) <= MOST_CONFIG_FILES
    assert journey.entries <= MOST_CONFIG_ENTRIES
