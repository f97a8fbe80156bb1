"""TCP streams of a capture file, as tcpdump writes it. Does no I/O.

Reads pcap (not pcapng), IPv4 and IPv6, on Ethernet, loopback, Linux cooked and raw links. Packets
may be repeated or out of order: a stream ends where bytes are missing.
Source: the manual pages pcap-savefile(5) and pcap-linktype(7).
"""

from collections.abc import Callable, Iterator, Mapping
from struct import Struct
from typing import Final

from trio_kafka.attributes import frozen

_FILE: Final = 24  # bytes of the file's header
_PACKET: Final = 16
_MAGICS: Final[Mapping[bytes, tuple[str, float]]] = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}
_TCP: Final = 6
_SYN: Final = 2
_VLAN: Final = b"\x81\x00"
_HALF: Final = 1 << 31
_LIMIT: Final = 1 << 32


@frozen
class Flow:
    """One direction of a connection."""

    source: str
    target: str

    @property
    def reverse(self) -> "Flow":
        """The other direction."""
        return Flow(self.target, self.source)


@frozen(kw_only=True)
class Segment:
    """Bytes of a flow at a sequence number. time_s: since 1970."""

    flow: Flow
    time_s: float
    sequence: int
    is_first: bool
    data: bytes


def read_segments(capture: bytes) -> Iterator[Segment]:
    """Yield the TCP segments of a capture, in the order of the file. Raises ValueError."""
    order = _MAGICS.get(capture[:4])
    if order is None or len(capture) < _FILE:
        hint = " (pcapng: convert it with `tshark -F pcap`)" if capture[:1] == b"\n" else ""
        raise ValueError(f"not a pcap file{hint}")
    endian, unit_s = order
    link = Struct(f"{endian}I").unpack_from(capture, 20)[0] & 0xFFFF
    strip = _LINKS.get(link)
    if strip is None:
        raise ValueError(f"link type {link}: want Ethernet, loopback, Linux cooked or raw IP")
    head = Struct(f"{endian}IIII")
    at = _FILE
    while at + _PACKET <= len(capture):
        seconds, fraction, size, _ = head.unpack_from(capture, at)
        packet = capture[at + _PACKET : at + _PACKET + size]
        at += _PACKET + size
        segment = _segment(strip(packet), seconds + fraction * unit_s)
        if segment is not None:
            yield segment


def _ethernet(packet: bytes) -> bytes:
    return packet[18:] if packet[12:14] == _VLAN else packet[14:]


_LINKS: Final[Mapping[int, Callable[[bytes], bytes]]] = {
    0: lambda packet: packet[4:],  # BSD loopback
    1: _ethernet,
    12: lambda packet: packet,  # raw IP
    101: lambda packet: packet,
    113: lambda packet: packet[16:],  # Linux cooked
    276: lambda packet: packet[20:],
}


def _segment(packet: bytes, time_s: float) -> Segment | None:
    """Return the TCP segment of an IP packet; None for other packets and cut ones."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20 and packet[9] == _TCP:
        start, end = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
        hosts = [".".join(map(str, packet[at : at + 4])) for at in (12, 16)]
    elif version == 6 and len(packet) >= 40 and packet[6] == _TCP:
        start, end = 40, 40 + int.from_bytes(packet[4:6], "big")
        hosts = [f"[{packet[at : at + 16].hex(':', 2)}]" for at in (8, 24)]
    else:
        return None
    tcp = packet[start : end or len(packet)]  # 0: the network card cuts large segments later
    if len(tcp) < 20:
        return None
    ports = [int.from_bytes(tcp[at : at + 2], "big") for at in (0, 2)]
    source, target = (f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
    is_first = bool(tcp[13] & _SYN)
    return Segment(
        flow=Flow(source, target),
        time_s=time_s,
        sequence=(int.from_bytes(tcp[4:8], "big") + is_first) % _LIMIT,
        is_first=is_first,
        data=tcp[(tcp[12] >> 4) * 4 :],
    )


class Stream:
    """Bytes of one flow in order."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._early: dict[int, bytes] = {}

    def add(self, segment: Segment) -> bytes:
        """Return the bytes that are next in the flow, now that a segment has come.

        The first segment of a capture begins the flow, unless its SYN was seen.
        """
        if segment.is_first or self._next is None:
            self._next = segment.sequence
            self._early.clear()
        if len(segment.data) > len(self._early.get(segment.sequence, b"")):
            self._early[segment.sequence] = segment.data
        parts = []
        while (data := self._take(self._next)) is not None:
            parts.append(data)
            self._next = (self._next + len(data)) % _LIMIT
        return b"".join(parts)

    def _take(self, number: int) -> bytes | None:
        """Return the bytes at a sequence number, also out of a segment that begins before it."""
        for sequence in list(self._early):
            overlap = (number - sequence) % _LIMIT
            if overlap < _HALF:
                data = self._early.pop(sequence)[overlap:]
                if data:
                    return data
        return None
