"""Passwords never leave a broker: not by logs, pages, metrics, settings, tree, files or errors."""

import gc
import logging

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, PACKAGE, SASL, log_in, upsertion
from tests.trio_kafka_admin.kit import Ui
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
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
from trio_kafka.security.sasl.scram import SHA_256, credential_of
from trio_kafka.security.sasl.scram_client import scram
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin
from trio_kafka_metrics.plugin import metrics

CANARY = "c4n4ry"
BROKER = 4  # type of a resource
JAAS = f'{PACKAGE}.plain.PlainLoginModule required user_ann="{CANARY}-plain";'
SETTINGS = {
    **SASL,
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
    "sasl.jaas.config": JAAS,
    "trio.request.log": "topic",
}
UPSERTION = upsertion("bob", f"{CANARY}-scram")


def hidden_texts() -> list[str]:
    """The passwords, and the texts by which bytes of keys would be shown."""
    known = credential_of(SHA_256, UPSERTION.salted_password, salt=UPSERTION.salt, iterations=4096)
    keys = (UPSERTION.salted_password, known.stored_key, known.server_key)
    return [CANARY, *(key.hex() for key in keys), *(repr(key)[2:-1] for key in keys)]


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


async def test_no_password_and_no_key_is_in_anything_that_a_broker_shows(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gc.collect()
    others = {id(thing) for thing in gc.get_objects()}  # of tests before this one
    shown: list[str] = []
    async with served_broker(simulated_world(), SETTINGS, plugins=(admin, metrics)) as served:
        shown += [repr(answer) for answer in await exchange_everything(served)]
        await trio.sleep(10)
        ui = Ui(served)
        index = await ui.json("/admin/api")
        for path in [page["path"] for page in index["pages"]]:
            shown.append((await ui.ask(path)).body.decode())
            shown.append((await ui.ask(path.replace("/api/", "/"))).body.decode())
        shown.append((await ui.ask("/metrics")).body.decode())
        shown.append(repr(served.broker.parts.config.texts))
        shown += [
            repr(thing) for thing in gc.get_objects() if id(thing) not in others and _is_ours(thing)
        ]
    shown += [repr(record.__dict__) for record in caplog.records]

    assert len(shown) > 100
    for hidden in hidden_texts():
        assert [text[:300] for text in shown if hidden in text] == []


def _is_ours(thing: object) -> bool:
    """Whether an object is of SASL or its settings: their texts may get into any message."""
    module = str(type(thing).__module__)  # in some libraries it is no text
    names = ("trio_kafka.security", "trio_kafka.config.sasl", "trio_kafka.config.jaas")
    return module.startswith((*names, "trio_kafka.network.authentication"))
