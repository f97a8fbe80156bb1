"""How sessions begin and end."""

import hashlib

from attrs import define, field

from trio_kafka.security.principal import Principal
from trio_kafka_http.accounts import Account
from trio_kafka_http.sessions import Sessions

ANN = Account(principal=Principal("User", "ann"))


@define(eq=False)
class World:
    """Clock, random numbers and the users of a test."""

    now: float = 0.0
    number: int = 0
    gone: list[Account] = field(factory=list)

    def random(self, size: int) -> bytes:
        self.number += 1
        return hashlib.shake_128(self.number.to_bytes(4)).digest(size)

    def is_current(self, account: Account) -> bool:
        return account not in self.gone


def sessions_of(world: World, most: int = 10) -> Sessions:
    return Sessions(
        accounts=world,  # type: ignore[arg-type]  # the part that sessions use
        random_bytes=world.random,
        now=lambda: world.now,
        idle_s=60.0,
        longest_s=600.0,
        most=most,
    )


def test_session_has_a_new_id_of_256_bits_which_is_not_kept() -> None:
    sessions = sessions_of(World())

    ids = {sessions.begin(ANN) for _ in range(3)}

    assert {len(bytes.fromhex(text)) for text in ids} == {32}
    assert len(ids) == 3
    assert {sessions.principal(text) for text in ids} == {ANN.principal}
    assert sessions.principal("0" * 64) is None
    assert not [text for text in ids if text in repr(sessions)]


def test_unused_session_ends() -> None:
    world = World()
    sessions = sessions_of(world)
    used, unused = sessions.begin(ANN), sessions.begin(ANN)

    world.now = 59.0
    assert sessions.principal(used) is not None
    world.now = 60.0

    assert sessions.principal(used) is not None
    assert sessions.principal(unused) is None


def test_used_session_ends_at_its_longest_time() -> None:
    world = World()
    sessions = sessions_of(world)
    session = sessions.begin(ANN)

    for now in range(0, 600, 50):
        world.now = float(now)
        assert sessions.principal(session) is not None
    world.now = 600.0

    assert sessions.principal(session) is None
    assert sessions.figures()["depth"] == 0


def test_session_ends_with_the_credential_of_its_user() -> None:
    world = World()
    sessions = sessions_of(world)
    session = sessions.begin(ANN)

    world.gone.append(ANN)
    assert sessions.principal(session) is None
    world.gone.clear()

    assert sessions.principal(session) is None


def test_logout_ends_a_session_and_no_other() -> None:
    sessions = sessions_of(World())
    ended, other = sessions.begin(ANN), sessions.begin(ANN)

    sessions.end(ended)
    sessions.end(ended)
    sessions.end("unknown")

    assert sessions.principal(ended) is None
    assert sessions.principal(other) is not None


def test_new_session_in_a_full_table_ends_the_one_unused_longest() -> None:
    sessions = sessions_of(World(), most=2)
    first, second = sessions.begin(ANN), sessions.begin(ANN)
    sessions.principal(first)

    third = sessions.begin(ANN)

    assert sessions.principal(second) is None
    assert sessions.principal(first) is not None
    assert sessions.principal(third) is not None
    assert sessions.figures() == {"depth": 2, "bound": 2, "high_water": 2, "items": 3}


def test_many_logins_of_a_user_end_no_session_of_another_user() -> None:
    sessions = sessions_of(World(), most=4)
    bob = sessions.begin(Account(principal=Principal("User", "bob")))

    own = [sessions.begin(ANN) for _ in range(20)]

    assert sessions.principal(bob) == Principal("User", "bob")
    assert [text for text in own if sessions.principal(text)] == own[-3:]
    for text in (bob, *own):
        sessions.end(text)
    assert sessions.figures()["depth"] == 0
    assert [sessions.principal(sessions.begin(ANN)) for _ in range(5)] == [ANN.principal] * 5
