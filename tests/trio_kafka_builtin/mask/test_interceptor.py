"""Fetches of a whole broker: masked for whom, within which limits, and what cannot be read."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.records.kit import encode_marker
from tests.trio_kafka_builtin.mask.kit import (
    PERSON,
    batch,
    fetch,
    masking,
    parts_of,
    produce,
    values_of,
)
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k01_fetch import FetchRequest, ReplicaState
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.append import append_own
from trio_kafka.testing.scripted_client import newest

MASKED = {"ssn": "***", "name": "Ann"}


async def test_only_values_of_topics_with_rules_are_masked(
    autojump_clock: MockClock,
) -> None:
    async with masking() as served:
        for topic in ("people", "things"):
            await served.create_topic(topic)
            await produce(served, topic, batch(PERSON, codec=Codec.GZIP))
        (people,) = parts_of(await served.ask(fetch(served, "people")))
        (things,) = parts_of(await served.ask(fetch(served, "things")))

    assert [json.loads(value) for value in values_of(people)] == [MASKED]
    assert [json.loads(value) for value in values_of(things)] == [PERSON]
    assert people.high_watermark == 1


async def test_values_are_masked_at_every_poll_of_a_fetch_session(
    autojump_clock: MockClock,
) -> None:
    async with masking() as served:
        await served.create_topic("people")
        await produce(served, "people", batch(PERSON))
        first = await served.ask(fetch(served, "people", session_epoch=0))
        session = {"session_id": first.session_id, "session_epoch": 1}
        poll = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[], **session)
        second = await served.ask(poll)

    assert first.session_id
    for answer in (first, second):
        (part,) = parts_of(answer)
        assert [json.loads(value) for value in values_of(part)] == [MASKED]


async def test_the_response_of_a_delayed_fetch_is_masked(autojump_clock: MockClock) -> None:
    async with masking() as served:
        await served.create_topic("people")
        async with served.connect() as other:
            request = fetch(served, "people", max_wait_ms=10_000, min_bytes=1)
            async with trio.open_nursery() as nursery:

                async def wait() -> None:
                    (part,) = parts_of(await other.ask(request, newest(FetchRequest)))
                    assert [json.loads(value) for value in values_of(part)] == [MASKED]

                nursery.start_soon(wait)
                await trio.sleep(1)
                await produce(served, "people", batch(PERSON))


async def test_excepted_principals_and_clients_receive_unmasked_values(
    autojump_clock: MockClock,
) -> None:
    for setting in ({"except_principals": "User:ANONYMOUS"}, {"except_clients": "scripted"}):
        async with masking(**setting) as served:
            await served.create_topic("people")
            await produce(served, "people", batch(PERSON))
            (part,) = parts_of(await served.ask(fetch(served, "people")))

        assert [json.loads(value) for value in values_of(part)] == [PERSON]


async def test_a_client_that_claims_a_replica_id_receives_masked_values(
    autojump_clock: MockClock,
) -> None:
    async with masking() as served:
        await served.create_topic("people")
        await produce(served, "people", batch(PERSON))
        for replica in (0, 1, 2):
            request = fetch(served, "people")
            request.replica_state = ReplicaState(replica_id=replica)
            for part in parts_of(await served.ask(request)):
                assert b"078-05" not in bytes(part.records or b"")


async def test_a_masked_response_stays_within_the_size_limits_of_the_request(
    autojump_clock: MockClock,
) -> None:
    small = batch({"ssn": ""})
    grown = len(small) + 3 - len(" ")  # json.dumps puts a space behind a colon
    async with masking() as served:
        await served.create_topic("people", 2)
        for partition in (0, 0, 1):
            await produce(served, "people", small, partition)
        whole = await served.ask(fetch(served, "people", 0, 1))
        by_partition = await served.ask(fetch(served, "people", 0, 1, most=2 * grown - 1))
        by_request = await served.ask(fetch(served, "people", 0, 1, max_bytes=3 * grown - 1))
        least = await served.ask(fetch(served, "people", 0, 1, max_bytes=1))

    assert [len(values_of(part)) for part in parts_of(whole)] == [2, 1]
    assert [len(values_of(part)) for part in parts_of(by_partition)] == [1, 1]
    assert [len(values_of(part)) for part in parts_of(by_request)] in ([2, 0], [1, 1])
    assert [len(values_of(part)) for part in parts_of(least)] == [1, 0]


@pytest.mark.parametrize(
    ("unreadable", "values"),
    [("pass", [b'{"name":1}', b"no json"]), ("drop", [b'{"name":1}', None])],
)
async def test_values_that_are_not_json_are_passed_or_dropped_as_configured(
    unreadable: str, values: list[bytes | None], autojump_clock: MockClock
) -> None:
    async with masking(unreadable=unreadable) as served:
        await served.create_topic("people")
        await produce(served, "people", batch(b'{"name":1}', b"no json"))
        (part,) = parts_of(await served.ask(fetch(served, "people")))

    assert values_of(part) == values


async def test_values_that_are_not_json_can_be_configured_to_fail_the_fetch(
    autojump_clock: MockClock,
) -> None:
    async with masking(unreadable="error") as served:
        await served.create_topic("people", 2)
        await produce(served, "people", batch(PERSON))
        await produce(served, "people", batch(b"no json"))
        await produce(served, "people", batch(b"no json"), 1)
        good, bad = parts_of(await served.ask(fetch(served, "people", 0, 1)))

    assert [json.loads(value) for value in values_of(good)] == [MASKED]
    assert good.error_code == 0
    assert bad.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert not bad.records


async def test_a_masked_fetch_holds_no_file_lease_after_its_response(
    autojump_clock: MockClock,
) -> None:
    async with masking() as served:
        await served.create_topic("people")
        await produce(served, "people", batch(PERSON))
        await served.ask(fetch(served, "people"))
        log = served.broker.replicas.partition("people", 0).local_log()

        assert not log.segments.active.file.leased


async def test_masked_read_committed_fetches_exclude_records_of_open_transactions(
    autojump_clock: MockClock,
) -> None:
    """As without masks: not a byte more for the room that masked values leave."""
    facts = {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
    long = {"ssn": "0" * 2000, "name": "Ann"}
    async with masking() as served:
        await served.create_topic("people")
        partition = served.broker.replicas.partition("people", 0)

        def write(data: bytes) -> None:
            append_own(partition, memoryview(bytearray(data)), acks=1)

        async def seen(isolation_level: int, **more: int) -> tuple[list[Any], Any]:
            request = fetch(served, "people", isolation_level=isolation_level, **more)
            (part,) = parts_of(await served.ask(request))
            return [json.loads(value) for value in values_of(part) if b"ssn" in value], part

        write(batch(long))
        write(batch(PERSON, producer_id=1, **facts))
        write(batch(PERSON))
        committed, part = await seen(1)
        assert (part.last_stable_offset, part.high_watermark) == (1, 3)
        assert committed == [MASKED]
        assert (await seen(0))[0] == [MASKED] * 3

        parked: list[Any] = []
        async with served.connect() as other, trio.open_nursery() as nursery:
            request = fetch(
                served, "people", offset=1, isolation_level=1, max_wait_ms=9000, min_bytes=1
            )

            async def wait() -> None:
                parked.extend(parts_of(await other.ask(request, newest(FetchRequest))))

            nursery.start_soon(wait)
            await trio.sleep(1)
            assert parked == []  # nothing is stable from there on
            marker = Marker(committed=False, coordinator_epoch=1)
            write(encode_marker(marker, producer_id=1, producer_epoch=0, timestamp=5))
        (part,) = parked
        assert [transaction.first_offset for transaction in part.aborted_transactions] == [1]
        assert part.last_stable_offset == 4
        assert b"078-05" not in bytes(part.records)
        assert (await seen(1))[0] == [MASKED] * 3


async def test_masked_read_committed_fetches_stop_at_the_last_stable_offset(
    autojump_clock: MockClock,
) -> None:
    """An inner interceptor may have made the answer longer: its size is no bound of what may be
    seen.
    """

    def longer(request: Any, answer: Any, context: Context) -> None:
        for part in parts_of(answer):
            if part.records:
                part.records.release()
                part.records = memoryview(bytes(10_000))

    async with masking() as served:
        await served.create_topic("people")
        partition = served.broker.replicas.partition("people", 0)
        open_one = batch(
            PERSON, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True
        )
        for data in (batch(PERSON), open_one, batch(PERSON)):
            append_own(partition, memoryview(bytearray(data)), acks=1)
        served.broker.parts.interceptors.add(
            "after", FetchRequest, longer, order=1000, owner=RecordingOwner()
        )

        async def seen(isolation_level: int) -> list[Any]:
            request = fetch(served, "people", isolation_level=isolation_level)
            (part,) = parts_of(await served.ask(request))
            return [json.loads(value) for value in values_of(part)]

        assert await seen(1) == [MASKED]
        assert await seen(0) == [MASKED] * 3


async def test_records_of_a_topic_deleted_during_the_fetch_are_released_and_not_sent(
    autojump_clock: MockClock,
) -> None:
    """The census of what is held fails the test if the file range of the records stays leased."""

    def rename(request: Any, answer: Any, context: Context) -> None:
        (topic,) = answer.responses
        topic.topic_id = bytes(range(16))  # unknown, as if the topic were gone

    async with masking() as served:
        await served.create_topic("people")
        await produce(served, "people", batch(PERSON))
        served.broker.parts.interceptors.add(
            "after", FetchRequest, rename, order=1000, owner=RecordingOwner()
        )
        (part,) = parts_of(await served.ask(fetch(served, "people")))

    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert not part.records
    assert part.high_watermark == -1
