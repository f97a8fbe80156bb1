"""XXH3 with 64 bits and seed 0, for 4 bytes and more: the hash in group records.

It works in steps, as 64 bytes take about 4 µs. Source: the XXH3 specification; tested on Kafka's
results.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from trio_kafka.scheduling.chunked_work import Steps

_M: Final = 0xFFFFFFFFFFFFFFFF
_M32: Final = 0xFFFFFFFF
_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_PRIMES32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIMES64: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MX1: Final = 0x165667919E3779F9
_MX2: Final = 0x9FB21C651E98DF25
_STRIPE: Final = 64
_STRIPES_OF_BLOCK: Final = 16
_U64: Final = Struct("<Q")
_EIGHT: Final = Struct("<8Q")
_KEYS: Final = [_EIGHT.unpack_from(_SECRET, 8 * number) for number in range(17)]
_LAST_KEYS: Final = _EIGHT.unpack_from(_SECRET, 121)
_MERGE_KEYS: Final = _EIGHT.unpack_from(_SECRET, 11)


def xxh3_64(data: bytes) -> Steps[int]:
    """Return the hash, unsigned. `data` has at least 4 bytes."""
    size = len(data)
    if size > 240:
        return (yield from _long(data))
    if size > 128:
        return _medium(data)
    if size > 16:
        return _short(data)
    return _nine_to_sixteen(data) if size > 8 else _four_to_eight(data)


def _read(data: bytes, at: int) -> int:
    word: int = _U64.unpack_from(data, at)[0]
    return word


def _fold(first: int, second: int) -> int:
    product = first * second
    return (product & _M) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MX1 & _M
    return value ^ (value >> 32)


def _mix(data: bytes, at: int, key_at: int) -> int:
    return _fold(
        _read(data, at) ^ _read(_SECRET, key_at), _read(data, at + 8) ^ _read(_SECRET, key_at + 8)
    )


def _four_to_eight(data: bytes) -> int:
    first = int.from_bytes(data[:4], "little")
    last = int.from_bytes(data[-4:], "little")
    value = (last + (first << 32)) ^ _read(_SECRET, 8) ^ _read(_SECRET, 16)
    value ^= ((value << 49 | value >> 15) ^ (value << 24 | value >> 40)) & _M
    value = value * _MX2 & _M
    value ^= (value >> 35) + len(data)
    value = value * _MX2 & _M
    return value ^ (value >> 28)


def _nine_to_sixteen(data: bytes) -> int:
    low = _read(data, 0) ^ _read(_SECRET, 24) ^ _read(_SECRET, 32)
    high = _read(data, len(data) - 8) ^ _read(_SECRET, 40) ^ _read(_SECRET, 48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche(len(data) + swapped + high + _fold(low, high) & _M)


def _short(data: bytes) -> int:
    size = len(data)
    total = size * _PRIMES64[0]
    for number in range((size - 1) // 32 + 1):
        total += _mix(data, 16 * number, 32 * number)
        total += _mix(data, size - 16 * (number + 1), 32 * number + 16)
    return _avalanche(total & _M)


def _medium(data: bytes) -> int:
    size = len(data)
    total = size * _PRIMES64[0]
    total += sum(_mix(data, 16 * number, 16 * number) for number in range(8))
    total = _avalanche(total & _M)
    total += sum(_mix(data, 16 * number, 16 * (number - 8) + 3) for number in range(8, size // 16))
    return _avalanche(total + _mix(data, size - 16, 119) & _M)


def _long(data: bytes) -> Steps[int]:
    p1, p2, p3, p4, p5 = _PRIMES64
    lanes = [_PRIMES32[2], p1, p2, p3, p4, _PRIMES32[1], p5, _PRIMES32[0]]
    for number in range((len(data) - 1) // _STRIPE):
        turn = number % _STRIPES_OF_BLOCK
        _accumulate(lanes, _EIGHT.unpack_from(data, number * _STRIPE), _KEYS[turn])
        if turn == _STRIPES_OF_BLOCK - 1:
            _scramble(lanes)
            yield
    _accumulate(lanes, _EIGHT.unpack_from(data, len(data) - _STRIPE), _LAST_KEYS)
    total = len(data) * p1
    for lane in range(0, 8, 2):
        total += _fold(lanes[lane] ^ _MERGE_KEYS[lane], lanes[lane + 1] ^ _MERGE_KEYS[lane + 1])
    return _avalanche(total & _M)


def _accumulate(lanes: list[int], values: Sequence[int], keys: Sequence[int]) -> None:
    for lane in range(8):
        value = values[lane]
        keyed = value ^ keys[lane]
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _M
        lanes[lane] = lanes[lane] + (keyed & _M32) * (keyed >> 32) & _M


def _scramble(lanes: list[int]) -> None:
    for lane, key in enumerate(_KEYS[16]):
        value = lanes[lane]
        lanes[lane] = (value ^ (value >> 47) ^ key) * _PRIMES32[0] & _M
