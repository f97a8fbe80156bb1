"""Keys of token issuers: read at the start, refreshed, and looked for when one is missing."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, SASL, sasl_broker
from tests.security.tokens.kit import ISSUER, key_set, public_row, rules, token
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.token_keys import TokenKeys, read_document
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.security.sasl.oauthbearer import oauthbearer
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH

FIRST, SECOND = public_row("ES256", "k"), public_row("ES256", "new", 1)


def settings(file: Path) -> dict[str, str]:
    return {
        **SASL,
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": file.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


async def present(served: ServedBroker, text: str) -> SaslAuthenticateResponse:
    """Present a token on a new connection; the last answer."""
    async with served.connect(LISTENER) as client:
        await client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        exchange = oauthbearer(text, {})
        answer = await client.ask(SaslAuthenticateRequest(next(exchange)), 2)
        if answer.auth_bytes:
            answer = await client.ask(SaslAuthenticateRequest(exchange.send(answer.auth_bytes)), 2)
        return answer


def fresh(key_id: str = "k", number: int = 0, **more: object) -> str:
    """A token that is valid in the world's time, for 60 s."""
    now_s = int(EPOCH + trio.current_time())
    return token("ES256", key_id, number, iat=now_s, exp=now_s + 60, **more)


async def test_a_client_with_a_token_is_its_subject_until_the_token_expires(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(FIRST))
    async with sasl_broker(settings(file)) as served:
        accepted = await present(served, fresh())
        rejected = [await present(served, fresh(**{name: "x"})) for name in ("aud", "iss")]

    assert accepted.error_code == 0
    assert 50_000 < accepted.session_lifetime_ms <= 60_000
    for answer in rejected:
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == '{"status":"invalid_token"}'


async def test_a_new_key_of_the_issuer_is_read_when_a_token_names_it(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(FIRST))
    async with sasl_broker(settings(file)) as served:
        file.write_bytes(key_set(FIRST, SECOND))
        before = await present(served, fresh("new", 1))
        await trio.sleep(11)
        after = await present(served, fresh("new", 1))

    assert (before.error_code, after.error_code) == (ErrorCode.SASL_AUTHENTICATION_FAILED, 0)


@pytest.mark.parametrize("content", [None, b"", b"{}"])
async def test_a_broker_does_not_start_without_the_keys_of_its_issuer(
    autojump_clock: MockClock, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "keys.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(StartError, match=r"jwks\.endpoint\.url: file:.*keys\.json"):
        async with sasl_broker(settings(file)):
            pass


async def test_keys_are_read_again_after_a_failure_and_the_last_ones_stay(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(FIRST))
    node = Node("root", "part")
    keys = TokenKeys(simulated_world(), node)
    token_rules = rules(url=file.as_uri(), refresh_s=60.0)
    await keys.read(token_rules)
    issuer = keys.of(token_rules)
    async with trio.open_nursery() as nursery:
        await nursery.start(keys.run)
        file.write_bytes(b"not yet whole")
        await trio.sleep(100)
        assert issuer.find("k") is not None
        figures = node.children[0].children[0].figures()
        assert figures["failures"] > 3
        file.write_bytes(key_set(SECOND))
        await trio.sleep(20)
        assert issuer.find("k") is None
        assert issuer.find("new") is not None
        nursery.cancel_scope.cancel()


async def test_unknown_key_ids_have_the_keys_read_at_most_every_ten_seconds(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(FIRST))
    node = Node("root", "part")
    keys = TokenKeys(simulated_world(), node)
    token_rules = rules(url=file.as_uri())
    await keys.read(token_rules)
    async with trio.open_nursery() as nursery:
        await nursery.start(keys.run)
        for _ in range(100):
            keys.of(token_rules).find("guessed")
            await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert 5 <= node.children[0].children[0].figures()["reads"] <= 12


def test_a_key_set_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(bytes((1 << 20) + 1))

    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        read_document(file.as_uri())
