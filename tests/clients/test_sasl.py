"""Producer, consumer and admin client over SASL, in virtual time."""

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, PACKAGE, create_scram_users, sasl_broker
from trio_kafka.clients import ProducerRecord, open_admin, open_consumer, open_producer
from trio_kafka.clients.errors import AuthenticationError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.broker import ServedBroker

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def settings(
    address: object, mechanism: str = "PLAIN", password: str = "secret", **more: object
) -> dict[str, object]:
    """Settings of a client that is ann; `_` in a name stands for `.`."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return {
        "bootstrap.servers": str(address),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{PACKAGE}.{module} required username=ann password="{password}";',
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def address(served: ServedBroker) -> object:
    return served.broker.endpoints[LISTENER]


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_producer_consumer_and_admin_log_in_by_each_mechanism(
    autojump_clock: MockClock, mechanism: str
) -> None:
    async with sasl_broker() as served:
        await create_scram_users(served)
        world = served.broker.world
        client_settings = settings(address(served), mechanism)
        async with open_admin(client_settings, world=world) as admin:
            assert (await admin.describe_cluster()).cluster_id
        async with open_producer(client_settings, world=world) as producer:
            await (await producer.send(ProducerRecord("orders", b"x"))).wait()
        reading = settings(address(served), mechanism, auto_offset_reset="earliest")
        async with open_consumer(reading, world=world) as consumer:
            consumer.assign([TopicPartition("orders", 0)])
            async for record in consumer:
                assert record.value == b"x"
                break


async def test_a_wrong_password_fails_every_client_at_once(autojump_clock: MockClock) -> None:
    async with sasl_broker() as served:
        world = served.broker.world
        wrong = settings(address(served), password="s3cret")
        began = trio.current_time()
        async with open_producer(wrong, world=world) as producer:
            with pytest.raises(AuthenticationError, match="PLAIN login was rejected") as caught:
                await producer.send(ProducerRecord("orders", b"x"))
        async with open_admin(wrong, world=world) as admin:
            with pytest.raises(AuthenticationError):
                await admin.describe_cluster()

    assert trio.current_time() - began < 2
    assert caught.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "s3cret" not in str(caught.value)


async def test_a_client_logs_in_anew_before_its_session_ends_and_loses_nothing(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker({"connections.max.reauth.ms": "2000"}) as served:
        client_settings = settings(address(served))
        async with open_producer(client_settings, world=served.broker.world) as producer:
            receipts = []
            for number in range(60):
                receipts.append(await producer.send(ProducerRecord("orders", b"%d" % number)))
                await trio.sleep(0.1)
            offsets = [(await receipt.wait()).offset for receipt in receipts]
        processors = served.broker.parts.planes[0].processors
        phases = [p.authentication for p in processors if p.authentication is not None]

    assert offsets == list(range(60))
    assert sum(phase.counts.expired for phase in phases) == 0
    assert 3 <= sum(phase.counts.succeeded for phase in phases) <= 10


async def test_a_consumer_that_always_waits_for_records_logs_in_anew_in_time(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker({"connections.max.reauth.ms": "2000"}) as served:
        await served.create_topic("orders")
        world = served.broker.world
        async with open_consumer(settings(address(served)), world=world) as consumer:
            consumer.assign([TopicPartition("orders", 0)])
            with trio.move_on_after(8):
                async for _ in consumer:
                    pass
        processors = served.broker.parts.planes[0].processors
        phases = [p.authentication for p in processors if p.authentication is not None]

    assert sum(phase.counts.expired for phase in phases) == 0
    assert sum(phase.counts.succeeded for phase in phases) >= 4
