"""Producer, consumer and admin client with tokens of an endpoint, in virtual time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, PACKAGE, SASL, sasl_broker
from tests.security.tokens.endpoint import Endpoint, token_endpoint
from tests.security.tokens.kit import ISSUER, key_set, public_row, token
from trio_kafka.clients import ProducerRecord, open_admin, open_consumer, open_producer
from trio_kafka.clients.errors import AuthenticationError, ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.world.clock import EPOCH


@define
class Issuer:
    """Answers of a token endpoint: tokens of ann that live for some seconds, or an error."""

    clock: MockClock
    lifetime_s: int = 3600
    error: tuple[int, Any] | None = None
    claims: dict[str, object] = field(factory=dict)

    def answer(self) -> tuple[int, Any]:
        if self.error is not None:
            return self.error
        now_s = int(EPOCH + self.clock.current_time())
        text = token("ES256", iat=now_s, exp=now_s + self.lifetime_s, **self.claims)
        return 200, {"access_token": text}


@define
class Scene:
    """A broker, an endpoint of its issuer, and settings of clients."""

    served: ServedBroker
    endpoint: Endpoint
    issuer: Issuer

    def settings(self, **more: object) -> dict[str, object]:
        """`_` in a name stands for `.`."""
        line = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required extension_team=a;"
        return {
            "bootstrap.servers": str(self.served.broker.endpoints[LISTENER]),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": line,
            "sasl.oauthbearer.token.endpoint.url": self.endpoint.url,
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "s3cret",
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    @property
    def logins(self) -> tuple[int, int]:
        """Numbers of logins, and of sessions that the broker had to end."""
        processors = self.served.broker.parts.planes[0].processors
        phases = [p.authentication for p in processors if p.authentication is not None]
        counts = [phase.counts for phase in phases]
        return sum(c.succeeded for c in counts), sum(c.expired for c in counts)


Opener = Callable[..., Any]


@pytest.fixture
def scene(autojump_clock: MockClock, tmp_path: Path) -> Opener:
    keys = tmp_path / "keys.json"
    keys.write_bytes(key_set(public_row("ES256", "k")))
    settings = {
        **SASL,
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }

    @asynccontextmanager
    async def opened(**more: Any) -> AsyncIterator[Scene]:
        issuer = Issuer(autojump_clock, **more)
        with token_endpoint(issuer.answer) as endpoint:
            async with sasl_broker(settings) as served:
                yield Scene(served, endpoint, issuer)

    return opened


async def test_producer_consumer_and_admin_get_one_token_each(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with scene() as at:
        world = at.served.broker.world
        async with open_admin(at.settings(), world=world) as admin:
            assert (await admin.describe_cluster()).cluster_id
        async with open_producer(at.settings(), world=world) as producer:
            await (await producer.send(ProducerRecord("orders", b"x"))).wait()
        async with open_consumer(at.settings(auto_offset_reset="earliest"), world=world) as reader:
            reader.assign([TopicPartition("orders", 0)])
            async for record in reader:
                assert record.value == b"x"
                break

        assert len(at.endpoint.requests) == 3
        assert at.logins[0] >= 6  # a bootstrap connection and another one of each


async def test_a_client_renews_its_token_before_it_ends_and_loses_nothing(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with scene(lifetime_s=20) as at:
        receipts = []
        async with open_producer(at.settings(), world=at.served.broker.world) as producer:
            for number in range(120):
                receipts.append(await producer.send(ProducerRecord("orders", b"%d" % number)))
                await trio.sleep(0.5)
            offsets = [(await receipt.wait()).offset for receipt in receipts]
        logins, expired = at.logins

    assert offsets == list(range(120))
    assert expired == 0
    assert 3 <= len(at.endpoint.requests) <= logins <= 12


async def test_an_endpoint_that_fails_for_a_while_is_not_noticed_while_the_token_is_valid(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with (
        scene(lifetime_s=60) as at,
        open_producer(at.settings(), world=at.served.broker.world) as producer,
    ):
        await (await producer.send(ProducerRecord("orders", b"a"))).wait()
        at.issuer.error = (503, {"error": "maintenance"})
        await trio.sleep(52)  # its session is over
        await (await producer.send(ProducerRecord("orders", b"b"))).wait()
        tried = len(at.endpoint.requests)
        at.issuer.error = None
        await trio.sleep(9)  # and so is the token
        await (await producer.send(ProducerRecord("orders", b"c"))).wait()

    assert tried > 2
    assert at.endpoint.requests[-1].credentials == at.endpoint.requests[0].credentials


async def test_a_login_that_the_endpoint_refuses_fails_every_client_at_once(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with scene() as at:
        at.issuer.error = (401, {"error": "invalid_client"})
        began = trio.current_time()
        async with open_producer(at.settings(), world=at.served.broker.world) as producer:
            with pytest.raises(
                AuthenticationError, match=r"answered 401 .invalid_client"
            ) as caught:
                await producer.send(ProducerRecord("orders", b"x"))
        async with open_admin(at.settings(), world=at.served.broker.world) as admin:
            with pytest.raises(AuthenticationError, match="answered 401"):
                await admin.describe_cluster()

    assert trio.current_time() - began < 2
    assert caught.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "s3cret" not in str(caught.value)


async def test_an_endpoint_in_trouble_is_asked_again_until_the_call_ends(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with scene() as at:
        at.issuer.error = (503, {})
        client_settings = at.settings(default_api_timeout_ms=15_000, request_timeout_ms=5_000)
        async with open_admin(client_settings, world=at.served.broker.world) as admin:
            with pytest.raises(ClientError, match=r"no response in time|answered 503"):
                await admin.describe_cluster()
            at.issuer.error = None
            assert (await admin.describe_cluster()).cluster_id

    assert len(at.endpoint.requests) > 5


async def test_a_token_that_the_broker_rejects_is_in_no_error(
    autojump_clock: MockClock, scene: Opener
) -> None:
    async with scene(claims={"aud": "other"}) as at:
        async with open_admin(at.settings(), world=at.served.broker.world) as admin:
            with pytest.raises(
                AuthenticationError, match="OAUTHBEARER login was rejected"
            ) as caught:
                await admin.describe_cluster()

        _, document = at.issuer.answer()
        assert document["access_token"][:20] not in str(caught.value)


async def test_a_token_comes_from_a_file_as_well(
    autojump_clock: MockClock, scene: Opener, tmp_path: Path
) -> None:
    async with scene() as at:
        file = tmp_path / "token"
        file.write_text(at.issuer.answer()[1]["access_token"])
        client_settings = at.settings(sasl_oauthbearer_token_endpoint_url=file.as_uri())
        async with open_admin(client_settings, world=at.served.broker.world) as admin:
            assert (await admin.describe_cluster()).cluster_id

    assert at.endpoint.requests == []
