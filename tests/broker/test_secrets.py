"""Secrets never leave a broker: not by logs, pages, metrics, settings, tree, snapshots or errors.

Secrets are passwords, keys made of them, tokens, and ids of sessions.
"""

import gc
import logging
from base64 import b64encode

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, PACKAGE, SASL, log_in, upsertion
from tests.broker.tokens import present
from tests.trio_kafka_admin.kit import Ui
from tests.trio_kafka_http.kit import http_client
from tests.trio_kafka_http.test_plugin import address_of
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.protocol.messages.k38_create_delegation_token import CreateDelegationTokenRequest
from trio_kafka.protocol.messages.k39_renew_delegation_token import RenewDelegationTokenRequest
from trio_kafka.protocol.messages.k40_expire_delegation_token import ExpireDelegationTokenRequest
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribeDelegationTokenRequest,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.protocol.messages.k10010_describe_requests import DescribeRequestsRequest
from trio_kafka.security.delegation_tokens import password_of
from trio_kafka.security.sasl.scram import SHA_256, credential_of
from trio_kafka.security.sasl.scram_client import scram
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin
from trio_kafka_http.plugin import http
from trio_kafka_metrics.plugin import metrics

CANARY = "c4n4ry"
BROKER = 4  # type of a resource
JAAS = f'{PACKAGE}.plain.PlainLoginModule required user_ann="{CANARY}-plain";'
SETTINGS = {
    **SASL,
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
    "sasl.jaas.config": JAAS,
    "trio.request.log": "topic",
    "plugin.http.token": f"{CANARY}-token",
    "delegation.token.secret.key": f"{CANARY}-key",
}
UPSERTION = upsertion("bob", f"{CANARY}-scram")


def hidden_texts() -> list[str]:
    """The passwords, and the texts by which bytes of keys would be shown."""
    credential = credential_of(
        SHA_256, UPSERTION.salted_password, salt=UPSERTION.salt, iterations=4096
    )
    keys = (UPSERTION.salted_password, credential.stored_key, credential.server_key)
    return [CANARY, *(key.hex() for key in keys), *(repr(key)[2:-1] for key in keys)]


async def use_tokens(served: ServedBroker) -> list[str]:
    """Make, renew and end tokens, log in by one well and badly; the texts of their HMACs."""
    hidden: list[str] = []
    async with served.connect(LISTENER) as client:
        assert (await log_in(client, "ann", f"{CANARY}-plain")).error_code == 0
        for number in range(2):
            token = await client.ask(CreateDelegationTokenRequest(None, None, [], -1), 3)
            token_hmac = bytes(token.hmac)
            assert len(token_hmac) == 64
            password = password_of(token_hmac)
            hidden += [password, token_hmac.hex(), repr(token_hmac)[2:-1], repr(password.encode())]
            await client.ask(DescribeDelegationTokenRequest(None), 3)
            for request in (
                RenewDelegationTokenRequest(token_hmac, -1),
                ExpireDelegationTokenRequest(token_hmac, -1 if number else 1000),
                RenewDelegationTokenRequest(token_hmac, -1),  # of none, the second time
            ):
                await client.ask(request, 2)
            for secret in (password, f"{CANARY}-wrong"):
                async with served.connect(LISTENER) as other:
                    await present(other, token.token_id, secret)
    return hidden


async def exchange_everything(served: ServedBroker) -> list[object]:
    """Log in well and badly by each mechanism, and change users and settings; the answers."""
    answers: list[object] = [
        await served.ask(AlterUserScramCredentialsRequest(upsertions=[UPSERTION])),
        await served.ask(DescribeUserScramCredentialsRequest(None)),
    ]
    for password in (f"{CANARY}-plain", f"{CANARY}-wrong"):
        async with served.connect(LISTENER) as client:
            answers.append(await log_in(client, "ann", password))
    for password in (f"{CANARY}-scram", f"{CANARY}-wrong"):
        async with served.connect(LISTENER) as client:
            await client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
            exchange = scram(SHA_256, "bob", password, nonce="n")
            message = next(exchange)
            for _ in range(2):
                assert isinstance(message, bytes)
                answer = await client.ask(SaslAuthenticateRequest(message), 2)
                if answer.error_code:
                    answers.append(answer)
                    break
                try:
                    message = exchange.send(answer.auth_bytes)
                except StopIteration:
                    break
    for name, text in (
        ("listener.name.new.plain.sasl.jaas.config", JAAS),
        ("listener.name.new.plain.sasl.jaas.config", JAAS.replace("required", "")),
        ("listener.name.sasl_plaintext.plain.sasl.jaas.config", f"{CANARY} x"),
        ("listener.name.sasl_plaintext.plain.sasl.jaas.config", JAAS.replace("ann", "eve")),
    ):
        change = AlterConfigsResource(BROKER, "1", [AlterableConfig(name, 0, text)])
        answers.append(await served.ask(IncrementalAlterConfigsRequest([change])))
    resources = [DescribeConfigsResource(BROKER, name, None) for name in ("1", "")]
    answers += [
        await served.ask(DescribeConfigsRequest(resources, True, True)),
        await served.ask(DescribeTreeRequest()),
        *[await served.ask(DescribeRequestsRequest(which=which)) for which in range(3)],
    ]
    return answers


async def log_in_over_http(served: ServedBroker) -> tuple[list[str], str]:
    """Log in well and badly by each way of HTTP; the answers, and the id of a session."""
    shown = []
    own = {"origin": "http://localhost", "content-type": "application/x-www-form-urlencoded"}
    async with http_client(served.broker.world, address_of(served.broker)) as client:
        for credentials in (
            f"Bearer {CANARY}-token",
            f"Bearer {CANARY}-wrong",
            _basic("bob", f"{CANARY}-scram"),
            _basic("bob", f"{CANARY}-wrong"),
            _basic(f"{CANARY}-typed-as-user", f"{CANARY}-wrong"),
            _basic("bob", f"{CANARY}-token"),
            f"Digest {CANARY}",
            f"{CANARY}",
        ):
            headers = {"authorization": credentials}
            shown.append(repr(await client.ask("GET", "/metrics", headers=headers)))
            shown.append(repr(await client.ask("POST", f"/{CANARY[:2]}", headers=headers)))
        for body in (
            f"user=bob&password={CANARY}-wrong",
            f"user={CANARY}-typed-as-user&password={CANARY}-wrong",
            f"user=bob&password={CANARY}-%ff",
        ):
            answer = await client.ask("POST", "/login", headers=own, body=body.encode())
            shown.append(repr(answer))
        body = f"user=bob&password={CANARY}-scram"
        answer = await client.ask("POST", "/login", headers=own, body=body.encode())
        session = answer.headers["set-cookie"].partition(";")[0]
        page = await client.ask("GET", "/admin/connections", headers={"cookie": session})
        shown.append(repr(page))
        assert page.status == 200
    return shown, session.partition("=")[2]


def _basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


async def test_no_password_and_no_key_is_in_anything_that_a_broker_shows(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gc.collect()
    others = {id(thing) for thing in gc.get_objects()}  # of tests before this one
    shown: list[str] = []
    async with served_broker(simulated_world(), SETTINGS, plugins=(admin, metrics, http)) as served:
        hidden = [*hidden_texts(), *await use_tokens(served)]
        shown += [repr(answer) for answer in await exchange_everything(served)]
        answers, session = await log_in_over_http(served)
        shown += answers
        await trio.sleep(10)
        ui = Ui(served)
        index = await ui.json("/admin/api")
        for path in [page["path"] for page in index["pages"]]:
            shown.append((await ui.ask(path)).body.decode())
            shown.append((await ui.ask(path.replace("/api/", "/"))).body.decode())
        for path in ("/metrics", "/admin/download/snapshot", "/admin/download/trace?seconds=1"):
            shown.append((await ui.ask(path)).body.decode())
        shown.append(repr(served.broker.parts.config.texts))
        shown += [
            repr(thing) for thing in gc.get_objects() if id(thing) not in others and _is_ours(thing)
        ]
    shown += [repr(record.__dict__) for record in caplog.records]

    assert len(shown) > 100
    hidden += [session, b64encode(f"bob:{CANARY}".encode()).decode()[:10]]
    for secret in hidden:
        assert [excerpt(text, secret) for text in shown if secret in text] == []


def excerpt(text: str, secret: str) -> str:
    """The begin of a text, and what stands around a secret in it."""
    at = text.find(secret)
    return f"{text[:100]} ... {text[max(at - 200, 0) : at + 20]}"


def _is_ours(thing: object) -> bool:
    """Whether an object is of SASL or its settings: their texts may get into any message."""
    module = str(type(thing).__module__)  # in some libraries it is no text
    names = ("trio_kafka.security", "trio_kafka.config.sasl", "trio_kafka.config.jaas")
    return module.startswith((*names, "trio_kafka.network.authentication", "trio_kafka_http"))
