"""Records of TLS 1.3 as a client writes them, also those that Python's ssl module cannot ask for.

Source: RFC 8446 §4.6.3 (changes of keys), §5.2, §7.1 to §7.3.
"""

import ssl
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

SUITE = "TLS_AES_256_GCM_SHA384"
_HANDSHAKE, _DATA = 22, 23


class RecordWriter:
    """Writer of the client's records after a handshake with `SUITE`, in place of OpenSSL.

    key_log: file that the context of the client has written.
    """

    def __init__(self, key_log: Path) -> None:
        (line,) = [
            line
            for line in key_log.read_text().splitlines()
            if line.startswith("CLIENT_TRAFFIC_SECRET_0")
        ]
        self._begin(bytes.fromhex(line.split()[2]))

    def data(self, content: bytes) -> bytes:
        """A record of data."""
        return self._record(_DATA, content)

    def key_update(self, *, asks: bool) -> bytes:
        """A change of keys. asks: for one of the peer, too."""
        record = self._record(_HANDSHAKE, bytes([24, 0, 0, 1, asks]))
        self._begin(_expanded(self._secret, "traffic upd", len(self._secret)))
        return record

    def _begin(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._cipher = AESGCM(_expanded(secret, "key", 32))
        self._nonce = int.from_bytes(_expanded(secret, "iv", 12))

    def _record(self, kind: int, content: bytes) -> bytes:
        head = bytes([_DATA, 3, 3]) + (len(content) + 17).to_bytes(2)
        nonce = (self._nonce ^ self._number).to_bytes(12)
        self._number += 1
        return head + self._cipher.encrypt(nonce, content + bytes([kind]), head)


def _expanded(secret: bytes, label: str, size: int) -> bytes:
    name = f"tls13 {label}".encode()
    info = size.to_bytes(2) + bytes([len(name)]) + name + b"\0"
    return HKDFExpand(SHA384(), size, info).derive(secret)


def in_records_of_one_byte(records: bytes) -> bytes:
    """Return handshake messages in records of one byte each. records: whole ones."""
    messages, at = b"", 0
    while at < len(records):
        size = int.from_bytes(records[at + 3 : at + 5])
        messages += records[at + 5 : at + 5 + size]
        at += 5 + size
    return b"".join(b"\x16\x03\x01\0\x01" + messages[i : i + 1] for i in range(len(messages)))


def client_hello(context: ssl.SSLContext) -> bytes:
    """Return the first flight of a client."""
    arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(arriving, leaving, server_hostname="broker")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return leaving.read()
