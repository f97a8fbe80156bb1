"""TCP streams of captures."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.cli.decode.pcap import Flow, Segment, Stream, read_segments


def tcp(source: int, target: int, sequence: int, data: bytes, flags: int = 16) -> bytes:
    return struct.pack(">HHIIBBHHH", source, target, sequence, 0, 5 << 4, flags, 0, 0, 0) + data


def ipv4(segment: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0)
    return head + bytes([127, 0, 0, 1]) * 2 + segment


def ipv6(segment: bytes) -> bytes:
    return (
        struct.pack(">IHBB", 6 << 28, len(segment), 6, 64)
        + bytes(15)
        + b"\1"
        + bytes(15)
        + b"\2"
        + segment
    )


def capture(*packets: bytes, link: int = 101, endian: str = "<") -> bytes:
    head = struct.pack(endian + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return head + b"".join(
        struct.pack(endian + "IIII", 1, 500_000, len(packet), len(packet)) + packet
        for packet in packets
    )


@pytest.mark.parametrize(
    ("link", "front"),
    [(0, bytes(4)), (1, bytes(14)), (101, b""), (113, bytes(16)), (276, bytes(20))],
)
@pytest.mark.parametrize("endian", "<>")
def test_segments_are_found_on_each_link(link, front, endian):
    packet = front + ipv4(tcp(5000, 9092, 7, b"data"))

    (segment,) = read_segments(capture(packet, link=link, endian=endian))

    assert segment.flow == Flow("127.0.0.1:5000", "127.0.0.1:9092")
    assert (segment.time_s, segment.sequence, segment.data) == (1.5, 7, b"data")


def test_ipv6_and_vlans_are_read_and_other_packets_skipped():
    udp = bytearray(ipv4(b"x" * 30))
    udp[9] = 17
    vlan = bytes(12) + b"\x81\x00\0\1\x86\xdd" + ipv6(tcp(1, 2, 3, b"v"))

    (segment,) = read_segments(capture(bytes(14) + bytes(udp), b"", vlan, link=1))

    assert segment.data == b"v"
    assert segment.flow.target.endswith(":0002]:2")


@pytest.mark.parametrize("data", [b"", b"\n\r\r\n" + bytes(30), capture(link=147)])
def test_other_files_are_rejected(data):
    with pytest.raises(ValueError, match=r"not a pcap file|link type 147"):
        list(read_segments(data))


@given(
    st.binary(min_size=1, max_size=60),
    st.integers(0, (1 << 32) - 1),
    st.randoms(use_true_random=False),
)
def test_bytes_come_in_order_though_packets_are_doubled_and_shuffled(data, first, random):
    cuts = sorted(random.sample(range(len(data)), min(3, len(data))))
    bounds = [0, *cuts, len(data)]
    pieces = [(start, data[start:end]) for start, end in pairwise(bounds)]
    pieces += [(start, data[start : start + 5]) for start in cuts]
    random.shuffle(pieces)
    stream, flow = Stream(), Flow("a", "b")

    def segment(start, piece, *, is_first=False):
        sequence = (first + start) % (1 << 32)
        return Segment(flow=flow, time_s=0, sequence=sequence, is_first=is_first, data=piece)

    read = stream.add(segment(0, b"", is_first=True))
    read += b"".join(stream.add(segment(start, piece)) for start, piece in pieces)

    assert read == data
