"""Pauses of connections, as pages saw them."""

import trio
from trio.testing import MockClock

from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.waits import Subject, Wait, WaitCause
from trio_kafka_admin.mute_history import GAP_S, MOST, MuteHistory


def connection(key: str, *waits: Wait) -> ConnectionFacts:
    return ConnectionFacts(
        id=key,
        plane="data",
        listener="PLAINTEXT",
        processor="p",
        host="127.0.0.1",
        client_id="shop",
        software="",
        principal="",
        age_s=1.0,
        idle_s=None,
        in_flight=0,
        unsent_bytes=0,
        unsent_s=None,
        received_bytes=None,
        sent_bytes=None,
        waits=waits,
    )


def wait(cause: WaitCause, age_s: float | None = None, words: str = "its quota") -> Wait:
    return Wait(cause=cause, words=words, on=Subject("quota", "shop"), age_s=age_s)


async def test_pause_that_is_noted_twice_is_one_row(autojump_clock: MockClock) -> None:
    history = MuteHistory()
    history.note([connection("c", wait("quota", 3.0))])
    await trio.sleep(2)
    history.note([connection("c", wait("quota", 5.0, "its quota, still"))])
    await trio.sleep(1)

    (row,) = history.rows("c")

    assert (row.began_s, row.lasted_s) == (6.0, 5.0)
    assert (row.cause, row.words, row.client_id) == ("quota", "its quota, still", "shop")


async def test_pause_that_began_anew_is_another_one(autojump_clock: MockClock) -> None:
    history = MuteHistory()
    history.note([connection("c", wait("quota", 3.0))])
    await trio.sleep(4)
    history.note([connection("c", wait("quota", 1.0))])

    assert [row.began_s for row in history.rows("shop")] == [1.0, 7.0]


async def test_pause_that_was_not_seen_for_long_has_ended(autojump_clock: MockClock) -> None:
    history = MuteHistory()
    history.note([connection("c", wait("quota"))])
    await trio.sleep(GAP_S + 1)
    history.note([connection("c", wait("quota", GAP_S + 1))])

    assert len(history.rows("c")) == 2


async def test_causes_and_connections_are_apart(autojump_clock: MockClock) -> None:
    history = MuteHistory()
    history.note([connection("c", wait("quota"), wait("memory")), connection("d", wait("quota"))])

    assert {row.cause for row in history.rows("c")} == {"quota", "memory"}
    assert len(history.rows("d")) == 1
    assert len(history.rows("shop")) == 3
    assert history.rows("other") == []


async def test_pauses_are_bounded(autojump_clock: MockClock) -> None:
    history = MuteHistory()
    history.note([connection(str(number), wait("quota")) for number in range(2 * MOST)])

    rows = history.rows("shop")

    assert len(rows) == MOST
    assert rows[0].connection == str(2 * MOST - 1)
