"""Plays a case over a connection, and writes down each byte that is sent and received.

Nonces, signatures, lifetimes that depend on the clock, and the order of mechanisms differ from run
to run: these are replaced before an answer is written down, within its bytes and its text.
"""

import re
import struct
from typing import Any, Final

import trio

from tests.broker.sasl_exchanges.steps import Case, Pause, Send, token_of
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.headers import ResponseHeader, response_header_version
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeResponse
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsResponse
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka.protocol.schema import message_of
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.wire import client as wire

CLIENT_NONCE: Final = "fyko+d2lbbFgONRv9qkxdawL"
SALT: Final = b"1yz4hpmsjbavqnpg8fmt5ey2c"
"""Salt of every credential."""
DELAY_S: Final = 3.0
"""Delay before a failed connection is answered and closed."""
_END_S: Final = 1.5  # in which an answered connection that has failed is closed
_ANSWER_S: Final = 20.0
_SHOWN: Final = 200  # bytes of a frame that are shown
_SASL_KEYS: Final = (17, 18, 36)
_SERVER_NONCE: Final = re.compile(rb"(r=" + re.escape(CLIENT_NONCE.encode()) + rb")[^,]+")
_SIGNATURE: Final = re.compile(rb"^v=.*")
_LIFETIMES_MS: Final = (0, 1500, 60_000)  # of `connections.max.reauth.ms`; others end with a token
_ROUND_MS: Final = 10_000


async def play(case: Case, client: ScriptedClient, now_s: int) -> list[str]:
    """Return the lines of the record."""
    lines: list[str] = []
    exchange = case.begin(now_s)
    step = next(exchange)
    while True:
        if isinstance(step, Pause):
            await trio.sleep(step.seconds)
            lines.append(f"  pause of {step.seconds:g} s")
            answer = b""
        else:
            lines.append(f"  > {step.note or shown(step.data)}")
            began = trio.current_time()
            data = await _send_and_receive(client, step.data)
            delay = " after the delay" if trio.current_time() - began > DELAY_S / 2 else ""
            if data is None:
                return [*lines, f"  closed{delay}"]
            answer, text = read(step, data)
            lines.append(f"  <{delay} {text}")
        try:
            step = exchange.send(answer)
        except StopIteration:
            break
    lines.append(f"  {await _end(client)}")
    return lines


async def _send_and_receive(client: ScriptedClient, data: bytes) -> bytes | None:
    """Send, and return the next frame with its size; None: the connection has been closed."""
    try:
        await client.send(data)
        with trio.fail_after(_ANSWER_S):
            frame = await client.receive_frame()
    except (EOFError, OSError):
        return None
    return struct.pack(">i", len(frame)) + frame


async def _end(client: ScriptedClient) -> str:
    """The state of the connection after nothing more is sent on it: closed or open."""
    with trio.move_on_after(_END_S):
        await client.wait_closed()
        return "closed"
    return "open"


def shown(data: bytes) -> str:
    """Bytes in hexadecimal; of many, the first and their number."""
    if len(data) <= _SHOWN:
        return data.hex()
    return f"{data[:_SHOWN].hex()}… {len(data)} bytes"


def read(step: Send, data: bytes) -> tuple[bytes, str]:
    """Return the token of an answer, and its line: its bytes and what they say."""
    if step.response is None:
        body = data[4:]
        plain = _without_chance(body)
        return body, f"{(struct.pack('>i', len(plain)) + plain).hex()} token {plain!r}"
    try:
        answer = wire.decode_response(step.response, step.version, data[4:])
    except ProtocolError:
        return b"", f"{shown(data)} unreadable"
    version = _version_of(answer, step.version)
    correlation = wire.correlation_of(data[4:])
    mark = "" if _encoded(answer, version, correlation) == data else " (written in another way)"
    plain_answer = normalised(answer)
    hexadecimal = shown(_encoded(plain_answer, version, correlation))
    return token_of(answer), f"{hexadecimal} {_said(plain_answer)}{mark}"


def _version_of(answer: Any, version: int) -> int:
    """An answer to ApiVersions in an unknown version has version 0."""
    is_unsupported = getattr(answer, "error_code", 0) == ErrorCode.UNSUPPORTED_VERSION
    return 0 if isinstance(answer, ApiVersionsResponse) and is_unsupported else version


def _encoded(answer: Any, version: int, correlation: int) -> bytes:
    message = message_of(type(answer))
    head = to_bytes(ResponseHeader(correlation), response_header_version(message, version))
    body = to_bytes(answer, version)
    return struct.pack(">i", len(head) + len(body)) + head + body


def _said(answer: Any) -> str:
    code = getattr(answer, "error_code", None)
    name = "" if code is None else f"{ErrorCode(code).name} "
    return f"{name}{answer!r}"


def normalised(answer: Any) -> Any:
    """The answer without what differs from run to run, or with the set of APIs."""
    match answer:
        case SaslHandshakeResponse():
            return SaslHandshakeResponse(answer.error_code, sorted(answer.mechanisms))
        case SaslAuthenticateResponse():
            lifetime_ms = answer.session_lifetime_ms
            if lifetime_ms not in _LIFETIMES_MS:
                lifetime_ms = -(-lifetime_ms // _ROUND_MS) * _ROUND_MS
            return SaslAuthenticateResponse(
                error_code=answer.error_code,
                error_message=answer.error_message,
                auth_bytes=_without_chance(bytes(answer.auth_bytes)),
                session_lifetime_ms=lifetime_ms,
            )
        case ApiVersionsResponse():
            keys = [row for row in answer.api_keys if row.api_key in _SASL_KEYS]
            return ApiVersionsResponse(error_code=answer.error_code, api_keys=keys)
        case _:
            return answer


def _without_chance(data: bytes) -> bytes:
    return _SIGNATURE.sub(b"v=SIGNATURE", _SERVER_NONCE.sub(rb"\1NONCE", data))
