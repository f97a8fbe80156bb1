"""Listeners of several names and address families, each with a stock client that stays on it."""

import socket
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import trio
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from trio_kafka.model import Endpoint
from trio_kafka.testing.broker import served_broker
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

WAIT_S = 20


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def settings_of(data: Path) -> Mapping[str, str]:
    return {
        "listeners": "SIX://[::1]:0,FOUR://127.0.0.1:0",
        "listener.security.protocol.map": "SIX:PLAINTEXT,FOUR:PLAINTEXT",
        "inter.broker.listener.name": "FOUR",
        "log.dirs": str(data),
    }


def where_brokers_are(bootstrap: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return {f"{one.host}:{one.port}" for one in admin.list_topics(timeout=WAIT_S).brokers.values()}


def produce(bootstrap: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("t", value, partition=0)
    assert producer.flush(WAIT_S) == 0


def read(bootstrap: str) -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False}
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition("t", 0, 0)])
        return [found.value() for found in consumer.consume(2, WAIT_S)]


@pytest.mark.slow
@pytest.mark.skipif(
    not has_ipv6(), reason="no IPv6 loopback: sysctl net.ipv6.conf.lo.disable_ipv6=0"
)
async def test_a_client_stays_on_the_listener_that_it_came_to(tmp_path: Path) -> None:
    in_thread = partial(trio.to_thread.run_sync, abandon_on_cancel=True)
    async with served_broker(RealWorld(SkippingClock()), settings_of(tmp_path)) as served:
        await served.create_topic("t")
        six, four = (served.broker.endpoints[name] for name in ("SIX", "FOUR"))
        assert (six.host, four.host) == ("::1", "127.0.0.1")
        assert six.port != four.port != 0

        assert await in_thread(where_brokers_are, str(six)) == {f"::1:{six.port}"}
        assert await in_thread(where_brokers_are, str(four)) == {f"127.0.0.1:{four.port}"}
        await in_thread(produce, str(six), b"of six")
        await in_thread(produce, str(four), b"of four")
        for endpoint in (six, four):
            assert isinstance(endpoint, Endpoint)
            assert await in_thread(read, str(endpoint)) == [b"of six", b"of four"]
