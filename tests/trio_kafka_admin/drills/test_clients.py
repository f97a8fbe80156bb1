"""Drills: a client that does not read, and a client above its quota."""

from trio.testing import MockClock

from tests.apis.kit import batch, fetch_request, produce_request
from tests.apis.test_k49_alter_client_quotas import entry
from tests.trio_kafka_admin.drills.kit import drill, newest_produce
from tests.trio_kafka_admin.drills.troubles import tell
from trio_kafka.protocol.messages.k49_alter_client_quotas import AlterClientQuotasRequest
from trio_kafka.testing.scripted_client import newest, request_frame


async def test_client_that_does_not_read_is_named_with_what_it_leaves(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        topic = await exercise.served.create_topic("big")
        for _ in range(8):
            await exercise.served.ask(produce_request(topic, (0, batch(bytes(900_000)))))
        async with exercise.served.connect() as client:
            client.client_id = "stuck-reader"
            most = 50 << 20
            request = fetch_request(topic, 0, max_bytes=most, partition_max_bytes=most)
            await client.send(
                request_frame(request, newest(type(request)), client_id="stuck-reader")
            )
            finding = await exercise.find("unread-answers")
            await tell(exercise.ui, "unread-answers", finding)

    assert finding["title"] == "client stuck-reader does not read its answers"
    assert " MB wait to be sent to 127.0.0.1 on connection " in finding["more"]


async def test_finding_of_a_throttled_client_names_the_quota_with_used_and_allowed_bytes(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        quota = entry({"client-id": "importer"}, producer_byte_rate=20_000.0)
        await exercise.served.ask(AlterClientQuotasRequest([quota]))
        topic = await exercise.served.create_topic("imports")

        async def write() -> None:
            async with exercise.served.connect() as client:
                client.client_id = "importer"
                while True:
                    request = produce_request(topic, (0, batch(bytes(500_000))))
                    await client.ask(request, newest_produce())

        exercise.nursery.start_soon(write)
        finding = await exercise.find("throttled-client")
        await tell(exercise.ui, "throttled", finding)

    assert finding["title"] == "client importer is throttled"
    assert "quota Produce" in finding["more"]
    assert "of 20,000 B/s used" in finding["more"]
    assert finding["severity"] == "watch"
