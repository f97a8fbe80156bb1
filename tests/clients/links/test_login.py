"""Credentials that the connections of one client share."""

import base64
import json

import pytest
import trio
from trio.testing import MockClock

from tests.peers.test_blocking_tokens import Peer
from tests.security.tokens.endpoint import granted, token_endpoint
from trio_kafka.clients.links.login import ClientLogin
from trio_kafka.errors import KafkaError
from trio_kafka.security.sasl.client import Credentials
from trio_kafka.security.tokens.bearer import BearerToken
from trio_kafka.security.tokens.login import TokenLogin
from trio_kafka.security.tokens.sources import TokenEndpoint, TokenFile
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH
from trio_kafka.world.real.world import RealWorld


def jwt(lifetime_s: float) -> str:
    claims = json.dumps({"sub": "ann", "exp": EPOCH + lifetime_s})
    return f"a.{base64.urlsafe_b64encode(claims.encode()).decode()}.c"


async def test_password_is_the_same_for_all_connections(autojump_clock: MockClock) -> None:
    credentials = Credentials(mechanism="PLAIN", username="ann", password="secret")

    login = ClientLogin(simulated_world(), credentials)

    assert await login.credentials() is credentials
    assert login.figures() == {}


async def test_connections_that_need_a_token_together_share_one_request(
    autojump_clock: MockClock,
) -> None:
    tokens = []
    with token_endpoint(granted(jwt(3600))) as endpoint:
        source = TokenEndpoint(url=endpoint.url, client_id="me", client_secret="s3cret")
        login = ClientLogin(simulated_world(), TokenLogin(source=source))

        async def connect() -> None:
            tokens.append(await login.credentials())

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(connect)

    assert len(set(map(id, tokens))) == 1
    assert isinstance(tokens[0], BearerToken)
    assert len(endpoint.requests) == 1


async def test_a_token_is_renewed_in_the_background_before_it_ends(
    autojump_clock: MockClock,
) -> None:
    lifetimes = iter(range(1000, 10_000, 1000))
    answers = [(503, {}), (503, {})]

    def answer() -> tuple[int, object]:
        if len(endpoint.requests) in (2, 3):
            return answers.pop()
        return 200, {"access_token": jwt(next(lifetimes))}

    with token_endpoint(answer) as endpoint:
        source = TokenEndpoint(url=endpoint.url, client_id="me", client_secret="s3cret")
        login = ClientLogin(simulated_world(), TokenLogin(source=source))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(login.run)
            await trio.sleep(5000)
            assert endpoint.requests == []  # no connection has needed it
            lifetimes = iter(range(6000, 20_000, 1000))
            first = await login.credentials()
            await trio.sleep(690)
            assert await login.credentials() is first
            await trio.sleep(20)
            second = await login.credentials()
            nursery.cancel_scope.cancel()

    assert login.figures()["renewals"] == 2
    assert login.figures()["failures"] == 0
    assert isinstance(first, BearerToken)
    assert isinstance(second, BearerToken)
    assert (first.expires_s, second.expires_s) == (EPOCH + 6000, EPOCH + 7000)
    assert len(endpoint.requests) == 4  # two of them failed


async def test_connections_that_wait_for_a_token_together_share_its_failure(
    autojump_clock: MockClock,
) -> None:
    failures: list[str] = []
    with token_endpoint(lambda: (401, {})) as endpoint:
        source = TokenEndpoint(url=endpoint.url, client_id="me", client_secret="s3cret")
        login = ClientLogin(simulated_world(), TokenLogin(source=source))

        async def connect() -> None:
            with pytest.raises(KafkaError) as failed:
                await login.credentials()
            failures.append(str(failed.value))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(connect)

    assert len(set(failures)) == 1
    assert len(endpoint.requests) == 1


async def test_a_client_that_ends_does_not_wait_for_an_endpoint_that_is_silent() -> None:
    with Peer(b"") as url:
        source = TokenEndpoint(url=url, client_id="me", client_secret="s", read_s=60.0)
        login = ClientLogin(RealWorld(), TokenLogin(source=source))
        began = trio.current_time()
        with trio.move_on_after(0.1) as scope:
            await login.credentials()

    assert scope.cancelled_caught
    assert trio.current_time() - began < 30


async def test_cancelled_wait_lets_the_next_connection_try(
    autojump_clock: MockClock, tmp_path
) -> None:
    file = tmp_path / "token"
    login = ClientLogin(simulated_world(), TokenLogin(source=TokenFile(str(file))))
    with trio.CancelScope() as scope:
        scope.cancel()
        await login.credentials()
    file.write_text(jwt(60))

    with trio.fail_after(5):
        token = await login.credentials()

    assert scope.cancelled_caught
    assert isinstance(token, BearerToken)
