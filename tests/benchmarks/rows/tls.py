"""The rows of batches and small requests over TLS 1.3, AES-256-GCM, with a key of P-256."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks import protocol
from tests.benchmarks.bounds import times_other
from tests.benchmarks.connection import keep_asking
from tests.benchmarks.figures import Figures
from tests.benchmarks.rows.raw import fetch, make_batch, produce
from tests.benchmarks.rows.registry import Secured, Target, row
from tests.certificates import authority, server
from trio_kafka.testing.ports import LOOPBACK, unused_port

CPU = 1.5
JVM_WARM_S = 25.0


@row(
    "tls-raw-100B-900kB",
    times_other("produce, server CPU", must=CPU, aim=1.0),
    times_other("fetch, server CPU", must=CPU, aim=1.0),
)
def raw_tls(target: Target) -> Figures:
    """Batches of 900 kB in one partition, as `raw-100B-900kB`."""
    batch, records = make_batch(100, 900_000)
    with secured(target) as over_tls, over_tls.topic(much=len(batch)) as topic:
        for _ in warm_ups(over_tls):
            produce(over_tls, topic, batch)
            fetch(over_tls, topic, batch, records)
        produced = produce(over_tls, topic, batch)
        return {**produced, **fetch(over_tls, topic, batch, records)}


@row("tls-produce-small-50x1", times_other("server CPU", must=2, aim=1.5))
def small_tls(target: Target) -> Figures:
    """One record of 100 bytes a request, acks=1, 50 connections, as `produce-small-50x1`."""
    batch = protocol.record_batch([b"x" * 100])
    with secured(target) as over_tls, over_tls.topic() as topic:
        request = protocol.produce_request(topic, batch, acks=1)
        with over_tls.connect() as first:
            answer_size = len(first.call(request)) + 4
        with opened(over_tls, 50) as sockets:
            pairs = [(each, request) for each in sockets]
            for _ in warm_ups(over_tls):
                keep_asking(pairs, answer_size, 1, over_tls.seconds)
            with over_tls.meter() as meter:
                answered = keep_asking(pairs, answer_size, 1, over_tls.seconds)
        return meter.requests(answered)


def warm_ups(target: Target) -> Iterator[None]:
    """Repetitions before the measurement: each run starts a broker, and a JVM must compile."""
    end = time.monotonic() + (JVM_WARM_S if target.broker.name == "apache-kafka" else 1.0)
    while time.monotonic() < end:
        yield


@contextmanager
def opened(target: Target, count: int) -> Iterator[list[ssl.SSLSocket]]:
    """Connections that have shaken hands, and have taken the session tickets."""
    sockets: list[ssl.SSLSocket] = []
    try:
        for _ in range(count):
            connection = target.open()
            sockets.append(connection.socket)
            connection.call(protocol.frame(protocol.API_VERSIONS, 0))
        yield sockets
    finally:
        for each in sockets:
            each.close()


@contextmanager
def secured(target: Target) -> Iterator[Target]:
    """A new broker with a second listener, and a target that connects to that."""
    port, tls_port, controller = unused_port(), unused_port(), unused_port()
    listeners = [f"PLAINTEXT://{LOOPBACK}:{port}", f"TLS://{LOOPBACK}:{tls_port}"]
    with TemporaryDirectory(dir=target.directory) as directory:
        store = Path(directory) / "broker.pem"
        store.write_text(server().key_pem() + server().pem)
        settings = [
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={store}",
            f"advertised.listeners={','.join(listeners)}",
        ]
        if target.broker.name == "apache-kafka":
            listeners.append(f"CONTROLLER://{LOOPBACK}:{controller}")
            settings.append(f"controller.quorum.voters=1@{LOOPBACK}:{controller}")
        settings.append(f"listeners={','.join(listeners)}")
        context = ssl.create_default_context(cadata=authority().pem)
        with target.fresh(*settings, port=port) as fresh:
            yield fresh.over(Secured(address=(LOOPBACK, tls_port), context=context))
