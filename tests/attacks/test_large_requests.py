"""One request of the largest size stops no other client, whatever it is filled with.

Each array, map and tag list of the APIs is filled in turn. The bystander's longest stall, in the
broker's processor time, is what one turn of the loop took, and the turns beside it.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

import trio_kafka_apis
from tests.attacks.harness import MIB, Attacked, attacked_broker
from tests.attacks.large import HEAD, TOPIC, Place, filled, places
from tests.benchmarks.connection import connect
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.primitives import uvarint
from trio_kafka.requests.api import Api
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.scripted_client import request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
AIM_S: Final = 0.05
LIMIT_S: Final = 0.2
DELETE_GROUPS: Final = 42
_ANSWER_S: Final = 30.0
_GROUPS: Final = 3
_SETTINGS: Final = ("auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0")


def apis() -> list[Api]:
    """Every API that a broker serves."""
    registry = Registry()
    registry.add_module(trio_kafka_apis)
    return [api for entry in registry if (api := registry.get(entry.key)) is not None]


def test_every_api_is_covered_by_the_large_request_tests() -> None:
    assert len(apis()) >= 37
    assert sorted(api.key for group in range(_GROUPS) for api in _group(group)) == sorted(
        api.key for api in apis()
    )


@pytest.mark.parametrize("group", range(_GROUPS))
def test_no_large_request_blocks_the_event_loop(
    group: int, tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    all_of_them = bool(size(0, 1))
    slow: list[str] = []
    with attacked_broker(
        tmp_path, *_SETTINGS, longest_stall_s=60.0, most_resident_bytes=600 * MIB
    ) as attacked:
        _create_topic(attacked)
        for api in _group(group):
            for version in range(api.first, api.last + 1) if all_of_them else [api.last]:
                for place in _some(places(api.request, version), all_of_them=all_of_them):
                    largest = _largest(api, size(1 << 17, 10 * MIB))
                    stall = _stall_of(attacked, filled(api.request, version, place, largest))
                    line = f"{stall * 1e3:7.1f} ms  {api.name} {version}  {place}"
                    if stall > AIM_S:
                        print(line)
                    if stall > LIMIT_S:
                        slow.append(line)
    assert not slow, "\n" + "\n".join(sorted(slow, reverse=True))


def test_a_request_full_of_tagged_fields_does_not_delay_other_clients(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    largest = size(28, 98) * MIB
    with attacked_broker(tmp_path, longest_stall_s=LIMIT_S) as attacked:
        _stall_of(attacked, filled(ProduceRequest, 12, Place((HEAD,)), largest))
        _stall_of(attacked, _tagged_body(largest))


def test_the_connection_of_an_oversized_administration_request_is_closed_after_its_header(
    tmp_path: Path,
) -> None:
    with attacked_broker(tmp_path) as attacked:
        before = attacked.resident_bytes
        with socket.create_connection(attacked.broker.address, _ANSWER_S) as attacker:
            attacker.settimeout(_ANSWER_S)
            attacker.sendall(struct.pack(">ihhi", 10 * MIB, DELETE_GROUPS, 2, 1))
            assert attacker.recv(1) == b""
        attacked.wait_for_bystander()

        assert attacked.resident_bytes - before < MIB
    assert f"request of {10 * MIB} bytes with API key {DELETE_GROUPS}" in attacked.log


def _tagged_body(largest: int) -> bytes:
    """A Produce 12 whose body ends with as many tagged fields as fit."""
    frame = request_frame(ProduceRequest(acks=1, timeout_ms=1000), 12)
    body, count = frame[4:-1], (largest - len(frame)) // 4
    body += uvarint(count) + b"\x80\x80\x01\0" * count
    return len(body).to_bytes(4, "big") + body


def _group(number: int) -> list[Api]:
    return apis()[number::_GROUPS]


def _largest(api: Api, most: int) -> int:
    """Bytes of a request; those of Produce may have a hundred times as many."""
    return min(max(api.largest, MIB), most)


def _some(candidates: Iterable[Place], *, all_of_them: bool) -> list[Place]:
    """A few places: of each kind the first and the deepest."""
    every = list(candidates)
    if all_of_them or len(every) <= 5:
        return every
    kinds = [
        [place for place in every if place.path[-1].startswith("(")],
        [place for place in every if not place.path[-1].startswith("(") and not place.own_names],
        [place for place in every if place.own_names],
    ]
    some = [
        place for kind in kinds if kind for place in (kind[0], max(kind, key=lambda p: len(p.path)))
    ]
    return list(dict.fromkeys(some))


def _stall_of(attacked: Attacked, frame: bytes) -> float:
    """Send a request, and wait for its answer or the end; the longest stall meanwhile."""
    stalls = attacked.bystander.stalls_s
    before = len(stalls)
    with socket.create_connection(attacked.broker.address, _ANSWER_S) as attacker:
        with suppress(ConnectionError):
            attacker.sendall(frame)
            _read_answer(attacker)
        # What is freed when the request is over counts as well.
        seen = len(stalls)
        ends = time.monotonic() + _ANSWER_S
        while len(stalls) < seen + 3 and time.monotonic() < ends:
            assert attacked.bystander.error is None, attacked.bystander.error
            time.sleep(0.001)
    return max(stalls[before:])


def _read_answer(attacker: socket.socket) -> None:
    """Read one answer. It may never come: a group's members wait for one another."""
    room = bytearray(1 << 20)
    attacker.settimeout(_ANSWER_S)
    with suppress(TimeoutError):
        head = attacker.recv(4, socket.MSG_WAITALL)
        remaining = struct.unpack(">i", head)[0] if len(head) == 4 else 0
        while remaining > 0:
            received = attacker.recv_into(room, min(remaining, len(room)))
            if not received:
                return
            remaining -= received


def _create_topic(attacked: Attacked) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=10, replication_factor=1)
    with connect(attacked.broker.address) as client:
        client.call(request_frame(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7))
