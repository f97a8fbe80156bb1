"""Credentials of the connections of one client: unchanging ones, or tokens that are renewed."""

from contextlib import suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.peers.token_login import FAILURES, TokenKeeper
from trio_kafka.security.sasl.client import Credentials
from trio_kafka.security.tokens.bearer import BearerToken
from trio_kafka.security.tokens.login import TokenLogin
from trio_kafka.world.world import World

_LEAST_S: Final = 1.0  # between two looks at a token; the wall clock may have been moved


@define(eq=False)
class ClientLogin:
    """Credentials of a client. login: as its settings say."""

    _world: World
    _login: Credentials | TokenLogin
    _source: Credentials | TokenKeeper = field(init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)
    _got: trio.Event = field(factory=trio.Event, init=False)

    @_source.default
    def _make_source(self) -> Credentials | TokenKeeper:
        if isinstance(self._login, Credentials):
            return self._login
        return TokenKeeper(
            login=self._login,
            wall=self._world.clock.wall,
            now=trio.current_time,
            chance=self._world.random.random,
        )

    async def credentials(self) -> Credentials | BearerToken:
        """Return the credentials of a new connection. Waits only if there is no valid token.

        Connections that need the token at the same time wait for one attempt, and share its result.
        Raises KafkaError(SASL_AUTHENTICATION_FAILED), OSError.
        """
        keeper = self._source
        if isinstance(keeper, Credentials):
            await trio.lowlevel.checkpoint()
            return keeper
        token = keeper.valid
        if token is not None:
            await trio.lowlevel.checkpoint()
            return token
        failures = keeper.failures
        async with self._turn:
            token = keeper.valid
            if token is not None:
                return token
            if keeper.failures > failures:
                raise keeper.failure()
            return await self._renewed(keeper)

    def figures(self) -> Figures:
        """Return the figures of the token for the tree; empty for a password."""
        keeper = self._source
        if isinstance(keeper, Credentials):
            return {}
        return {
            "renewals": keeper.renewals,
            "failures": keeper.failures,
            "due_in_s": max(keeper.due_in_s, 0.0),
        }

    async def run(self) -> None:
        """Renew a token in time, once a connection has needed it, until cancelled."""
        keeper = self._source
        while isinstance(keeper, TokenKeeper):
            if keeper.valid is None:
                await self._got.wait()
                self._got = trio.Event()
            await trio.sleep(max(keeper.due_in_s, _LEAST_S))
            async with self._turn:
                if keeper.valid is not None and keeper.present is None:
                    with suppress(KafkaError, OSError):  # it has ended: a connection asks again
                        await self._renewed(keeper)

    async def _renewed(self, keeper: TokenKeeper) -> BearerToken:
        attempts = keeper.renewal()
        try:
            attempt = next(attempts)
            while True:
                await trio.sleep(attempt.after_s)
                try:
                    # Abandoned when the client ends: the thread has a deadline of its own.
                    text = await self._world.run_beside(attempt.call)
                except FAILURES as error:
                    attempt = attempts.throw(error)
                else:
                    attempt = attempts.send(text)
        except StopIteration as end:
            token: BearerToken = end.value
            self._got.set()
            return token
