"""Facts of a certificate: names, validity, alternative names. Reads DER (X.690) and nothing more.

The name is that of Java's `X500Principal.getName()`, which Kafka's mapping rules and ACLs see: the
order is reversed, RFC 2253 has the attribute names and the escapes. An attribute without a name
there, such as an email address, is its number with its value in hexadecimal DER. Python's ssl
module gives decoded values only, so the bytes are read here. A certificate of a peer was checked
by OpenSSL before.
"""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from trio_kafka.attributes import frozen

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_SEQUENCE, _SET, _OID, _OCTETS, _EXPLICIT_0 = 0x30, 0x31, 0x06, 0x04, 0xA0
_TEXTS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E})
_UTC_TIME: Final = 0x17
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


@frozen(kw_only=True)
class Certificate:
    """A certificate. alternative_names: kind (of RFC 5280's GeneralName) and bytes of each."""

    name: str
    not_before: datetime
    not_after: datetime
    alternative_names: frozenset[tuple[int, bytes]]


def parse_certificate(der: bytes) -> Certificate:
    """Return the facts of a certificate. Raises ValueError for other bytes."""
    try:
        return _parse(der)
    except (IndexError, StopIteration, UnicodeDecodeError) as error:
        raise ValueError(f"no certificate: {len(der)} bytes") from error


def first_certificate(pem: str) -> Certificate:
    """Return the facts of the first certificate of a PEM text. Raises ValueError."""
    begin = pem.find(_BEGIN)
    end = pem.find(_END, begin)
    if begin < 0 or end < 0:
        raise ValueError("no certificate in PEM")
    return parse_certificate(ssl.PEM_cert_to_DER_cert(pem[begin : end + len(_END)]))


def distinguished_name(der: bytes) -> str:
    """Return the subject of a certificate as `X500Principal.getName()` does. Raises ValueError."""
    return parse_certificate(der).name


def _parse(der: bytes) -> Certificate:
    ((_, certificate),) = _items(der)
    _, signed_part = next(_items(certificate))
    fields = list(_items(signed_part))
    if fields[0][0] == _EXPLICIT_0:  # the version
        del fields[0]
    _serial, _algorithm, _issuer, (_, validity), (_, subject), _key, *rest = fields
    not_before, not_after = (_time(tag, value) for tag, value in _items(validity))
    return Certificate(
        name=",".join(reversed([_relative_name(value) for _, value in _items(subject)])),
        not_before=not_before,
        not_after=not_after,
        alternative_names=frozenset(_alternative_names(rest)),
    )


def _items(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tags and contents of the values in `data`, one after the other."""
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            if not 0 < size <= 4:
                raise ValueError("a length that DER does not have")
            length = int.from_bytes(data[at : at + size], "big")
            at += size
        if at + length > len(data):
            raise ValueError("a value that is cut off")
        yield tag, data[at : at + length]
        at += length


def _relative_name(data: bytes) -> str:
    """Return one part of a name, which nearly always has one attribute."""
    return "+".join(_attribute(attribute) for _, attribute in _items(data))


def _attribute(data: bytes) -> str:
    (_, oid), (tag, value) = _items(data)
    number = _dotted(oid)
    keyword = _KEYWORDS.get(number)
    if keyword is None or tag not in _TEXTS:
        return f"{keyword or number}=#{_encoded(tag, value).hex()}"
    return f"{keyword}={_escaped(value.decode(errors='replace'))}"


def _encoded(tag: int, value: bytes) -> bytes:
    size = len(value)
    if size < 0x80:
        return bytes([tag, size]) + value
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + value


def _escaped(text: str) -> str:
    shown = "".join(f"\\{char}" if char in _ESCAPED else char for char in text)
    shown = shown.replace("\0", "\\00")
    inner = shown.strip(" \r")
    if inner == shown:
        return shown
    lead = len(shown) - len(shown.lstrip(" \r"))
    before, after = shown[:lead], shown[lead + len(inner) :]
    return "".join(f"\\{c}" for c in before) + inner + "".join(f"\\{c}" for c in after)


def _dotted(oid: bytes) -> str:
    numbers, value = [], 0
    for byte in oid:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _time(tag: int, value: bytes) -> datetime:
    text = value.decode()
    if tag == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _alternative_names(rest: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for tag, explicit in rest:
        if tag != 0xA3:
            continue
        ((_, extensions),) = _items(explicit)
        for _, extension in _items(extensions):
            (_, oid), *_, (_, content) = _items(extension)
            if _dotted(oid) == _ALTERNATIVE_NAMES:
                ((_, names),) = _items(content)
                yield from _items(names)
