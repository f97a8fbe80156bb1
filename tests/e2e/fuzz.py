"""Bursts of frames against a live broker, whole and broken ones; each from a seed and a number.

    python -m tests.e2e.fuzz HOST:PORT SEED NUMBER [NUMBER ...]

sends these bursts again, and prints what they ask and what becomes of them.
"""

import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

from attrs import define, field, frozen

from tests.e2e.frames import TOPICS, Sent, Speaker, harmed
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.testing.processes import Address, ask_api_versions
from trio_kafka.testing.scripted_client import request_frame

Versions = Mapping[int, tuple[int, int]]

AT_ONCE: Final = 8  # connections that wait to be read
PATIENCE_S: Final = 20
RARE: Final = {20}  # DeleteTopics: most others are about topics that are there
_HEAD: Final = struct.Struct(">i")


@frozen(kw_only=True)
class Burst:
    """Requests of one connection. broken: some of it is no frame as a client would send it."""

    name: str
    sent: Sequence[Sent]
    pieces: Sequence[bytes]
    broken: bool


def make_burst(seed: int, number: int, served: Versions, ids: Sequence[bytes]) -> Burst:
    """The same for the same arguments, but for the time in its records."""
    chance = Random(f"{seed}/{number}")
    speaker = Speaker(chance, ids, int(time.time() * 1000))
    keys = [*sorted(served), *sorted(served.keys() - RARE) * 7]
    sent = []
    for correlation in range(chance.choice((1, 2, 5, 12))):
        key = chance.choice(keys)
        first, last = served[key]
        sent.append(speaker.say(key, chance.randint(max(first, 3 * (key == 0)), last), correlation))
    broken = chance.random() < 0.6
    frames = [message.data for message in sent]
    if broken:
        last_broken = chance.randrange(len(frames))
        frames = [
            harmed(data, chance) if n == last_broken or chance.random() < 0.2 else data
            for n, data in enumerate(frames)
        ]
    data = b"".join(frames)
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return Burst(name=f"{seed} {number}", sent=sent, pieces=pieces, broken=broken)


@define(eq=False)
class Fuzzer:
    """Sends bursts, some connections at once, and holds the broker to what it owes each.

    A whole request gets the answer of its message, with Kafka's error codes and never "unknown
    server error"; broken bytes get what they get, but their connection ends when its client has
    no more to say. AssertionError names the burst that shows otherwise.
    """

    address: Address
    frames: int = 0
    answers: int = 0
    connections: int = 0
    errors: dict[str, int] = field(factory=dict)
    _served: Versions = field(init=False)
    _ids: Sequence[bytes] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._served = ask_api_versions(self.address)
        self._ids = topic_ids(self.address)

    def run(self, seed: int, numbers: Sequence[int]) -> None:
        """Send the bursts of these numbers; every connection has ended when this returns."""
        begun: deque[tuple[Burst, socket.socket]] = deque()
        try:
            for number in numbers:
                if number % 1000 == 999:
                    self._ids = topic_ids(self.address)  # some were deleted, some came
                burst = make_burst(seed, number, self._served, self._ids)
                begun.append((burst, self._begin(burst)))
                if len(begun) >= AT_ONCE:
                    self._end(*begun.popleft())
            while begun:
                self._end(*begun.popleft())
        finally:
            for _, connection in begun:
                connection.close()

    def _begin(self, burst: Burst) -> socket.socket:
        connection = socket.create_connection(self.address, PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections += 1
        self.frames += len(burst.sent)
        with suppress(OSError):  # it may be closed before all is sent
            for piece in burst.pieces:
                connection.sendall(piece)
            if burst.broken:
                connection.shutdown(socket.SHUT_WR)
        return connection

    def _end(self, burst: Burst, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as answers:
                if burst.broken:
                    self.answers += sum(1 for _ in frames_of(answers))
                else:
                    self._check(burst, frames_of(answers))
        except (AssertionError, TimeoutError, ValueError) as error:
            raise AssertionError(f"burst {burst.name}: {error!r}\n{show(burst)}") from error

    def _check(self, burst: Burst, answers: Iterator[bytes]) -> None:
        """Every request is answered in its order; a write without acks that fails may end it."""
        may_end = False
        for message in burst.sent:
            if not message.answered:
                may_end = True
                continue
            answer = next(answers, None)
            if answer is None:
                assert may_end, f"no answer to {message.request}"
                return
            self.answers += 1
            for code in error_codes(message.read(answer)):
                error = ErrorCode(code).name
                self.errors[error] = self.errors.get(error, 0) + 1
                # What Kafka answers to an isolation level that nobody knows.
                unknown = getattr(message.request, "isolation_level", 0) not in {0, 1}
                assert error != "UNKNOWN_SERVER_ERROR" or unknown, message.request


def frames_of(answers: Any) -> Iterator[bytes]:
    """Whole answers until the stream ends, in order or by a reset.

    AssertionError: it ends in order within one. TimeoutError: it does not end.
    """
    with suppress(ConnectionError):
        while head := answers.read(4):
            assert len(head) == 4
            (size,) = _HEAD.unpack(head)
            assert 4 <= size < 64 << 20, f"an answer of {size} bytes"
            answer = answers.read(size)
            assert len(answer) == size, f"{len(answer)} bytes of an answer of {size}"
            yield answer


def error_codes(part: Any) -> Iterator[int]:
    """All of a message and its structs; not those that tell of other requests."""
    if isinstance(part, RequestLife):
        return
    for spec in fields_of(type(part)):
        value = getattr(part, spec.name)
        if spec.name == "error_code":
            yield value
        elif spec.kind == "struct" and value is not None:
            yield from error_codes(value)
        elif spec.kind == "array" and spec.item.kind == "struct":
            for each in value or ():
                yield from error_codes(each)


def topic_ids(address: Address) -> Sequence[bytes]:
    """Of all topics that bursts name, zero for those that are not there."""
    request = MetadataRequest(
        [MetadataRequestTopic(name=name) for name in TOPICS], allow_auto_topic_creation=False
    )
    sent = Sent(key=3, version=12, correlation=0, data=request_frame(request, 12), request=request)
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(sent.data)
        with connection.makefile("rb") as answers:
            result = {
                topic.name: topic.topic_id for topic in sent.read(next(frames_of(answers))).topics
            }
    return [result[name] for name in TOPICS]


def show(burst: Burst) -> str:
    lines = [
        f"  {message_of(type(message.request)).name} {message.version}: {message.request}"
        for message in burst.sent
    ]
    return "\n".join([f"broken={burst.broken} {len(burst.pieces)} pieces", *lines])


def main(bootstrap: str, seed: str, *numbers: str) -> None:
    host, _, port = bootstrap.rpartition(":")
    fuzzer = Fuzzer((host, int(port)))
    for number in map(int, numbers):
        print(show(make_burst(int(seed), number, fuzzer._served, fuzzer._ids)))
        fuzzer.run(int(seed), [number])
    print(f"{fuzzer.answers} answers", fuzzer.errors)


if __name__ == "__main__":
    main(*sys.argv[1:])
