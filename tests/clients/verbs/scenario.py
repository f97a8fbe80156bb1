"""Contents of a cluster that verbs and Kafka's tools describe; made by the verbs alone."""

import io
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    asynccontextmanager,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from typing import Final

import trio

from trio_kafka.cli import main
from trio_kafka.clients import OffsetAndMetadata, ProducerRecord, open_consumer, open_producer
from trio_kafka.model import TopicPartition
from trio_kafka.testing.loop_thread import LoopThread

SETTINGS: Final = (
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users=User:ANONYMOUS",
)
_JOIN_S: Final = 120.0
RECORDS: Final = b"".join(f"key-{n}:value {n}\n".encode() for n in range(20))
STEPS: Final[tuple[tuple[str, bytes], ...]] = (
    ("topic create orders -p 3 -c retention.ms=86400000 -c cleanup.policy=delete", b""),
    ("topic create audit -p 1 -c compression.type=gzip", b""),
    ("topic create grown -p 2", b""),
    ("topic grow grown -p 4", b""),
    ("topic alter audit --set max.message.bytes=2000000 --unset compression.type", b""),
    ("config set topics grown segment.ms=7200000", b""),
    ("produce orders -p 0 -K : --time 2026-01-31T12:00", RECORDS),
    ("produce orders -p 1 -K : --time 2026-01-31T13:00", RECORDS),
    ("produce audit --time 2026-01-31T12:00 --transactional-id copier", b"one\ntwo\n"),
    ("topic trim orders -p 0 --before-offset 3", b""),
    ("consume orders --group billing", b""),
    ("group seek billing --to 7 --topic orders --partition 1", b""),
    ("consume audit --group gone", b""),
    ("group delete gone", b""),
    ("config set brokers 1 log.retention.ms=86400000", b""),
    ("config set brokers default log.cleaner.threads=2", b""),
    ("config set groups billing consumer.session.timeout.ms=50000", b""),
    ("quota set producer_byte_rate=1000 consumer_byte_rate=2000 --user ann", b""),
    ("quota set request_percentage=50.5 --user ann --client-id reports", b""),
    ("quota set producer_byte_rate=3000 --default user --default client-id", b""),
    ("quota set controller_mutation_rate=5 --client-id reports", b""),
    ("quota set producer_byte_rate=1 --default client-id", b""),
    ("quota unset producer_byte_rate --default client-id", b""),
    ("quota set connection_creation_rate=100 --ip 10.0.0.1", b""),
    ("acl create --principal User:ann --allow READ,WRITE --topic orders --topic audit", b""),
    ("acl create --principal User:bob --deny ALL --group bill --prefix --host 10.0.0.1", b""),
    ("acl create --principal User:* --allow DESCRIBE_CONFIGS --cluster", b""),
    ("acl create --principal User:cut --allow DESCRIBE --transactional-id * --token t", b""),
    ("acl delete --principal User:cut --operation DESCRIBE --token t", b""),
)
"""Commands with their standard input."""


class VerbError(Exception):
    """A verb has failed; the message is what it printed."""


def run_verb(bootstrap: str, *words: str, stdin: bytes = b"") -> str:
    """Run a verb in this process, and return what it prints. Raises VerbError."""
    output, errors = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            status = main([*words, "--bootstrap", bootstrap])
    finally:
        sys.stdin = before
    texts = [stream.buffer.getvalue().decode() for stream in (output, errors)]
    if status:
        raise VerbError(f"{' '.join(words)}: {texts[1]}")
    return texts[0]


def fill(bootstrap: str) -> None:
    """Run the steps against an empty cluster."""
    for words, stdin in STEPS:
        run_patiently(bootstrap, *words.split(), stdin=stdin)


def run_patiently(bootstrap: str, *words: str, stdin: bytes = b"") -> str:
    """Run a verb until it succeeds: a broker of Apache Kafka learns of a change some time later.

    Raises VerbError at the deadline.
    """
    deadline = time.monotonic() + _JOIN_S
    while True:
        try:
            return run_verb(bootstrap, *words, stdin=stdin)
        except VerbError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def check_soon(check: Callable[[], None]) -> None:
    """Make a check again until it passes, or the deadline, for the same reason."""
    deadline = time.monotonic() + _JOIN_S
    while time.monotonic() < deadline:
        with suppress(AssertionError, VerbError):
            return check()
        time.sleep(0.1)
    return check()


@contextmanager
def live_clients(bootstrap: str) -> Iterator[None]:
    """Members of two groups, one of each protocol, and a producer whose transaction is open."""
    thread = LoopThread(lambda _clock: _clients(bootstrap), "live clients")
    thread.start()
    try:
        yield
    finally:
        thread.stop()


@asynccontextmanager
async def _clients(bootstrap: str) -> AsyncIterator[None]:
    config = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
    classic = {**config, "group.id": "classic", "client.id": "old", "group.protocol": "classic"}
    modern = {**config, "group.id": "modern", "client.id": "new", "group.protocol": "consumer"}
    # Longer than the tests, which an abort by the coordinator would change.
    transactional = {"transactional.id": "open", "transaction.timeout.ms": 900_000}
    async with (
        open_consumer(classic) as classic_consumer,
        open_consumer({**modern, "group.instance.id": "static"}) as modern_consumer,
        open_producer({**transactional, "bootstrap.servers": bootstrap}) as producer,
    ):
        classic_consumer.subscribe(["orders"])
        modern_consumer.subscribe(["orders", "audit"])
        for consumer in (classic_consumer, modern_consumer):
            with trio.fail_after(_JOIN_S):
                while not consumer.assignment:
                    await consumer.poll(0.1)
            await consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(5)})
        with suppress(_AbortError):
            async with producer.transaction():
                await (await producer.send(ProducerRecord("audit", b"three")))
                yield
                raise _AbortError


class _AbortError(Exception):
    """Ends a transaction without a commit."""
