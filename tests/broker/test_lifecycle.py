"""A broker in the eyes of its controller."""

import pytest
import trio

from tests.broker.kit import APIS, config_of, fill
from trio_kafka.broker import Broker
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.controller.brokers import HeartbeatAnswer
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NO_NODE


class Answers:
    """A controller that answers heartbeats with what it was given, each after a second."""

    def __init__(self, *, fenced: bool, done_after: int = 100) -> None:
        self.beats: list = []
        self._fenced = fenced
        self._done_after = done_after

    async def heartbeat(self, beat, *, deadline: float = 0.0) -> HeartbeatAnswer:
        self.beats.append(beat)
        await trio.sleep(1)
        done = len(self.beats) >= self._done_after
        return HeartbeatAnswer(caught_up=True, fenced=self._fenced, should_shut_down=done)


def lifecycle_of(controller) -> Lifecycle:
    cache = MetadataCache(MetadataImage())
    return Lifecycle(1, b"i" * 16, controller, metadata=cache, node=Node("broker", "broker"))


async def test_broker_is_registered_unfenced_and_leads_no_partition_after_shutdown(
    world, autojump_clock
) -> None:
    async with Broker(
        config_of({"broker.rack": "r1"}), world, format_if_empty=True, apis=APIS
    ) as broker:
        await fill(broker)
        registration = broker.metadata.image.brokers[1]
        assert broker.lifecycle.epoch == registration.epoch > 0
        assert (registration.fenced, registration.rack) == (False, "r1")
        assert registration.log_dirs == (broker.storage.directory_id,)
        first, length = await broker.lifecycle.allocate_producer_ids()
        assert (first, length) == (0, 1000)

        assert await broker.lifecycle.shut_down(trio.current_time() + 10)

        image = broker.metadata.image
        assert image.brokers[1].in_controlled_shutdown or image.brokers[1].fenced
        assert {partition.leader for partition in image.topics["t"].partitions.values()} == {
            NO_NODE
        }
        assert broker.lifecycle.state == "fenced"


async def test_broker_of_another_cluster_is_refused_registration(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        stranger = Lifecycle(
            7,
            b"i" * 16,
            broker.controller,
            metadata=MetadataCache(MetadataImage(cluster_id="x")),
            node=Node("", "part"),
        )

        with pytest.raises(KafkaError) as caught:
            await stranger.register([], [b"d" * 16], None, timeout_s=60)

    assert caught.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert (stranger.epoch, stranger.state) == (-1, "starting")


async def test_registration_timeout_is_reported_with_its_setting(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        image = broker.metadata.image
        late = Lifecycle(
            7, b"i" * 16, broker.controller, metadata=MetadataCache(image), node=Node("", "part")
        )

        with pytest.raises(StartError) as caught:
            await late.register([], [b"d" * 16], None, timeout_s=0)

    assert str(caught.value) == (
        "the controller did not register this broker within 0 s"
        " (initial.broker.registration.timeout.ms)"
    )
    assert late.epoch == -1


async def test_broker_that_is_still_fenced_after_catching_up_raises_an_invariant_error(
    autojump_clock,
) -> None:
    with pytest.raises(InvariantError, match="broker 1 is fenced after it caught up"):
        await lifecycle_of(Answers(fenced=True)).unfence()


async def test_controlled_shutdown_is_requested_until_all_leaders_have_moved(
    autojump_clock,
) -> None:
    controller = Answers(fenced=False, done_after=3)

    assert await lifecycle_of(controller).shut_down(trio.current_time() + 60)

    assert [beat.want_shutdown for beat in controller.beats] == [True] * 3


async def test_controlled_shutdown_waits_for_leaders_until_its_deadline(autojump_clock) -> None:
    controller = Answers(fenced=False)

    assert not await lifecycle_of(controller).shut_down(trio.current_time() + 4.5)

    assert trio.current_time() == 5
