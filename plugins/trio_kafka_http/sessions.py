"""Sessions of people who have logged in, by a random id in a cookie.

The table is keyed by a hash of the id: a look-up tells nothing by its time, and no dump of memory
by attribute shows an id. A session ends when it was not used for a while, at a fixed time after its
begin, at the logout, with the credential that it began with, and when the table is full. Then the
user with the most sessions loses the one that was not used for longest, so the logins of one user
end no session of another. Ids are made here only: no client can choose one in advance.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures
from trio_kafka.security.principal import Principal
from trio_kafka_http.accounts import Account, Accounts

_ID: Final = 32  # bytes


@define(eq=False)
class Session:
    """One session. used: the last time."""

    account: Account
    began: float
    used: float


@define(eq=False, kw_only=True)
class Sessions:
    """Table of sessions. now: seconds of a clock that only moves forward."""

    _accounts: Accounts
    _random_bytes: Callable[[int], bytes]
    _now: Callable[[], float]
    _idle_s: float
    _longest_s: float
    _most: int
    _sessions: OrderedDict[bytes, Session] = field(factory=OrderedDict, init=False)
    _of_users: Counter[str] = field(factory=Counter, init=False)
    _begun: int = field(default=0, init=False)
    _peak: int = field(default=0, init=False)

    def begin(self, account: Account) -> str:
        """Begin a session, and return its id."""
        text = self._random_bytes(_ID).hex()
        now = self._now()
        self._sessions[_key(text)] = Session(account, now, now)
        self._of_users[account.principal.text] += 1
        if len(self._sessions) > self._most:
            self._make_room()
        self._begun += 1
        self._peak = max(self._peak, len(self._sessions))
        return text

    def principal(self, text: str) -> Principal | None:
        """Return the principal of a session that goes on, and note its use; None for another."""
        key = _key(text)
        session = self._sessions.get(key)
        if session is None:
            return None
        now = self._now()
        is_over = now - session.used >= self._idle_s or now - session.began >= self._longest_s
        if is_over or not self._accounts.is_current(session.account):
            self._remove(key)
            return None
        session.used = now
        self._sessions.move_to_end(key)
        return session.account.principal

    def end(self, text: str) -> None:
        """End a session. Idempotent."""
        self._remove(_key(text))

    def _make_room(self) -> None:
        most = max(self._of_users.values())
        for key, session in self._sessions.items():
            if self._of_users[session.account.principal.text] == most:
                self._remove(key)
                return

    def _remove(self, key: bytes) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            user = session.account.principal.text
            self._of_users[user] -= 1
            if not self._of_users[user]:
                del self._of_users[user]

    def figures(self) -> Figures:
        """Return figures of a node of kind `channel`."""
        return {
            "depth": len(self._sessions),
            "bound": self._most,
            "high_water": self._peak,
            "items": self._begun,
        }


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
