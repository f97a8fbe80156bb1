"""Checks passwords and tokens: at a limited rate, without blocking the loop, and logged.

A password is stretched in a thread, which holds no lock of the interpreter meanwhile. An unknown
user is checked like a known one, and a failure is answered after a fixed time from its begin, so
that neither cost nor time tells whether a user exists. A right password is remembered, by a hash
with a secret of this process: a script that sends one with each request pays for it once.
"""

import hmac
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Figures
from trio_kafka.security.sasl.scram import fits
from trio_kafka_http.accounts import Account, Accounts
from trio_kafka_http.admission import RefusedError
from trio_kafka_http.asgi_json import InFlight
from trio_kafka_http.failed_logins import FailedLogins

_AT_ONCE: Final = 1  # password is stretched at a time: another core is left for the loop
_WAITING: Final = 32  # with these
_REMEMBERED: Final = 256
_LONGEST: Final = 1024  # bytes of a name or a password


class Logins:
    """Logins. secret: 16 random bytes or more. delay_s: returns the time of a failed login, from
    its begin to its answer.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        secret: bytes,
        delay_s: Callable[[], float],
        run_in_thread: Callable[..., Awaitable[bool]],
        counter: Callable[..., Counter],
        logger: Logger,
    ) -> None:
        self.accounts = accounts
        self._secret = secret
        self._delay_s = delay_s
        self._run_in_thread = run_in_thread
        self._counter = counter
        self._logger = logger
        self._failed = FailedLogins(trio.current_time)
        self._in_flight = InFlight(_WAITING)
        self._turn = trio.CapacityLimiter(_AT_ONCE)
        self._remembered: OrderedDict[bytes, Account] = OrderedDict()

    async def by_token(self, token: bytes, address: str) -> Account | None:
        """Return the account of a token, or None. Raises RefusedError."""
        self._check_rate(address, "")
        account = self.accounts.by_token(token)
        if account is None:
            began = trio.current_time()
            self._failed.take(address, "")
            await self._fail(address, None, began)
        return account

    async def by_password(
        self, user: bytes, password: bytes, address: str, *, way: str
    ) -> Account | None:
        """Return the account of a user and password, or None. Raises RefusedError.

        The plane's token is a password of every user; a delegation token is an id and an HMAC.
        way: for the log.
        """
        began = trio.current_time()
        name = user[:_LONGEST].decode(errors="replace")
        self._check_rate(address, name)
        remembered = self._remember(user, password)
        if remembered is not None:
            return remembered
        text = password[:_LONGEST].decode(errors="replace")
        delegated = self.accounts.by_delegation_token(name, text)
        account = self.accounts.by_token(password) or delegated
        if account is None:
            if self._in_flight.full:
                raise RefusedError(503, "too many logins at once", ((b"retry-after", b"1"),))
            self._failed.take(address, name)
            user_account = self.accounts.find(name)
            if not await self._is_right(name, user, password, user_account):
                await self._fail(address, user_account, began)
                return None
            assert user_account is not None  # noqa: S101 - narrows
            self._failed.take(address, name, -1)
            account = user_account
        self._remember(user, password, account)
        self._counter("http_logins", result="succeeded").value += 1
        principal = str(account.principal)
        self._logger.info("login succeeded", principal=principal, peer=address, by=way)
        return account

    def figures(self) -> Figures:
        """Return figures of the limit of failed logins, for the tree."""
        return {**self._failed.figures(), "remembered": len(self._remembered)}

    def queue_figures(self) -> Figures:
        """Return figures of the logins in flight, for the tree."""
        return self._in_flight.figures()

    def _check_rate(self, address: str, user: str) -> None:
        wait_s = self._failed.wait_s(address, user)
        if wait_s:
            self._counter("http_logins", result="refused").value += 1
            again = ((b"retry-after", str(wait_s).encode()),)
            raise RefusedError(429, f"too many failed logins: try again in {wait_s} s", again)

    async def _is_right(
        self, name: str, user: bytes, password: bytes, user_account: Account | None
    ) -> bool:
        """Check a password in a thread."""
        mechanism, credential = self.accounts.stand_in(name)
        if user_account is not None and user_account.mechanism and user_account.credential:
            mechanism, credential = user_account.mechanism, user_account.credential
        text = password[:_LONGEST].decode(errors="replace")
        with self._in_flight:
            async with self._turn:
                is_right = await self._run_in_thread(fits, mechanism, text, credential)
        is_whole = len(password) <= _LONGEST and name.encode() == user
        return is_right and is_whole and user_account is not None and text.encode() == password

    async def _fail(self, address: str, user_account: Account | None, began: float) -> None:
        """Log and count a failure, and wait. A name that is no user's may be a password."""
        self._counter("http_logins", result="failed").value += 1
        user = user_account.principal.name if user_account is not None else "unknown"
        self._logger.warning("login failed", peer=address, user=user)
        await trio.sleep_until(began + self._delay_s())

    def _remember(
        self, user: bytes, password: bytes, account: Account | None = None
    ) -> Account | None:
        """Return what is remembered of a user and password; add an account if one is given."""
        pair = len(user).to_bytes(4) + user + password
        key = hmac.digest(self._secret, pair, "sha256")
        if account is not None:
            self._remembered[key] = account
            if len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        remembered = self._remembered.get(key)
        if remembered is not None and not self.accounts.is_current(remembered):
            del self._remembered[key]
            return None
        return remembered
