"""Protocols that speak on the wrong port, told by the first bytes that they send."""

from typing import Final

_METHODS: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN", b"HTTP")
_TLS_HANDSHAKE, _TLS_ALERT, _TLS_MAJOR = 0x16, 0x15, 0x03


def spoken_protocol(first: bytes) -> str | None:
    """Return the protocol of a peer by its first four bytes at least; None: another one."""
    if first[:4] in _METHODS:
        return "HTTP"
    if first[:4] == b"SSH-":
        return "SSH"
    if len(first) > 1 and first[0] in (_TLS_HANDSHAKE, _TLS_ALERT) and first[1] == _TLS_MAJOR:
        return "TLS"
    return None
