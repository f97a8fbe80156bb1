"""Waits of the controller: for a sync of the metadata log."""

from trio.testing import MockClock

from tests.introspect.waiting import chain, slow_disk, waiting
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest


async def test_creation_of_a_topic_waits_for_the_controller_and_its_log(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        slow_disk(waits, "__cluster_metadata-0")
        await waits.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=60_000))

        why = await waits.why("CreateTopics")

    assert chain(why) == [
        ("change", "controller", "quorum-controller"),
        ("sync", "partition", "__cluster_metadata-0"),
        ("sync", "directory", "/data"),
    ]
    assert why[0].words == "the controller to create topics"
    assert why[1].needs is not None
    assert why[1].has is not None
    assert why[1].has < why[1].needs
