"""Connections as they are counted, against a model that keeps all of them in lists."""

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from tests.quotas.test_rate import Model as RateModel
from trio_kafka.quotas.connection import (
    UNLIMITED,
    ConnectionAccounts,
    ConnectionBounds,
    ListenerAccount,
    ListenerBounds,
    address_of,
    bound_or_none,
    now_ms,
)

INSIDE, OUTSIDE = "INSIDE", "OUTSIDE"


def accounts(
    *listeners: str, protected: tuple[str, ...] = (INSIDE,), **bounds: object
) -> tuple[ConnectionAccounts, list[ListenerAccount]]:
    connection_accounts = ConnectionAccounts(protected)
    opened = [connection_accounts.open(name) for name in listeners]
    connection_accounts.obey(ConnectionBounds(**bounds))  # type: ignore[arg-type]
    return connection_accounts, opened


# --- places


@pytest.mark.parametrize(("entered", "room"), [(0, True), (1, True), (2, False), (3, False)])
def test_connections_of_all_listeners_are_limited_by_the_limit_of_the_broker(
    entered: int, room: bool
) -> None:
    made, (one, other) = accounts(OUTSIDE, "ADMIN", connections=2)
    for number in range(entered):
        made.enter((one, other)[number % 2], "10.0.0.1")

    assert made.has_room(one) == made.has_room(other) == room
    assert made.excess == max(0, entered - 2)


def test_listener_without_its_own_limit_has_the_limit_of_the_broker() -> None:
    made, (inside, outside) = accounts(
        INSIDE, OUTSIDE, connections=2, listeners={OUTSIDE: ListenerBounds(connections=1)}
    )
    made.enter(outside, "a")
    assert not made.has_room(outside)

    made.enter(inside, "a")
    assert made.has_room(inside)  # protected: the broker's limit is reached, and no matter
    made.enter(inside, "a")
    assert not made.has_room(inside)  # but a listener has no more than its own
    assert made.excess == 1


def test_inter_broker_listener_is_protected_while_another_listener_is_open() -> None:
    made, (inside, outside) = accounts(
        INSIDE, OUTSIDE, connections=1, listeners={INSIDE: ListenerBounds(connections=9)}
    )
    made.enter(outside, "a")
    assert [made.is_protected(inside), made.is_protected(outside)] == [True, False]
    assert made.has_room(inside)

    made.close(outside)

    assert not made.is_protected(inside)
    assert not made.has_room(inside)


def test_listener_is_protected_while_a_listener_of_lower_priority_is_open() -> None:
    made, (inside, control, outside) = accounts(
        INSIDE, "CONTROL", OUTSIDE, protected=("CONTROL", INSIDE), connections=1
    )
    made.enter(outside, "a")
    assert [made.is_protected(one) for one in (inside, control, outside)] == [True, True, False]

    made.close(outside)
    assert [made.is_protected(one) for one in (inside, control)] == [False, True]

    made.close(inside)
    assert not made.is_protected(control)


def test_changed_connection_limits_hold_at_once_and_for_later_listeners() -> None:
    made, (one,) = accounts(OUTSIDE)
    for _ in range(5):
        made.enter(one, "a")
    assert made.excess == 0

    made.obey(ConnectionBounds(connections=3))
    assert made.excess == 2
    assert not made.has_room(one)
    assert made.open("LATE").bounds.connections == 3
    made.obey(ConnectionBounds(connections=6))
    assert made.has_room(one)


@pytest.mark.parametrize(
    ("address", "most"), [("10.0.0.1", 2), ("10.0.0.2", 0), ("10.0.0.3", 3), ("::1", 2)]
)
def test_address_has_its_own_connection_limit_or_the_default_limit(address: str, most: int) -> None:
    made, (one,) = accounts(OUTSIDE, per_address=2, addresses={"10.0.0.2": 0, "10.0.0.3": 3})
    for _ in range(most):
        made.enter(one, address)
        assert not made.is_crowded(address)
    made.enter(one, address)
    assert made.is_crowded(address)
    made.leave(one, address)
    assert not made.is_crowded(address)


Step = tuple[str, int, int]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["enter", "leave", "limit", "close"]),
            st.integers(0, 2),
            st.integers(0, 4),
        ),
        max_size=60,
    )
)
def test_connection_counts_equal_the_model_after_any_steps(steps: list[Step]) -> None:
    names = (INSIDE, OUTSIDE, "ADMIN")
    made, opened = accounts(*names)
    closed: set[int] = set()
    there: list[tuple[int, str]] = []
    limit = UNLIMITED
    for what, number, more in steps:
        account, address = opened[number], f"10.0.0.{more}"
        if what == "enter" and number not in closed:
            protected = names[number] == INSIDE and len(closed) < 2
            own = sum(at == number for at, _ in there)
            assert made.has_room(account) == (own < limit and (protected or len(there) < limit))
            made.enter(account, address)
            there.append((number, address))
        elif what == "leave" and there:
            at, address = there.pop(more % len(there))
            made.leave(opened[at], address)
        elif what == "limit":
            limit = more or UNLIMITED
            made.obey(ConnectionBounds(connections=limit))
        elif what == "close" and number not in closed:
            closed.add(number)
            made.close(account)

        assert made.total == len(there)
        assert [one.count for one in opened] == [
            sum(at == number for at, _ in there) for number in range(3)
        ]
        assert made.addresses == {
            one: sum(address == one for _, address in there) for _, one in there
        }
        assert made.excess == max(0, len(there) - limit)


# --- rates


@define
class Limited:
    """A rate of the model, and its bound."""

    bound: int
    rate: RateModel = field(factory=lambda: RateModel(11, 1000, []))

    def arrive(self, now: int) -> int:
        self.rate.record(1, now)
        measured, size = self.rate.rate(now), self.rate.size(now)
        if measured <= self.bound:
            return 0
        return min(int((measured - self.bound) / self.bound * size + 0.5), 1000)


@given(st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=80))
def test_listener_waits_for_the_slower_of_its_rate_and_the_rate_of_the_broker(
    arrivals: list[tuple[int, bool]],
) -> None:
    made, (inside, outside) = accounts(
        INSIDE,
        OUTSIDE,
        rate=3,
        listeners={OUTSIDE: ListenerBounds(rate=2), INSIDE: ListenerBounds(rate=4)},
    )
    broker, own, brokers = Limited(3), Limited(2), Limited(4)
    now, waited = 0, []
    for pause, is_inside in arrivals:
        now += pause
        if is_inside:
            wait = brokers.arrive(now)
            assert made.arrive(inside, now) == wait
        else:
            wait = max(broker.arrive(now), own.arrive(now))
            assert made.arrive(outside, now) == wait
            waited.append(wait)
    if any(waited) and now < 30_000:
        throttled = [wait for wait in waited if wait]
        average = outside.throttled.measure(now)
        assert average is not None
        assert round(average - sum(throttled) / len(throttled), 6) == 0


def test_connection_rate_above_its_limit_is_delayed_up_to_one_window() -> None:
    """10 windows of the 11 count as gone by: 21 connections at once are 2.1 a second."""
    made, (one,) = accounts(OUTSIDE, rate=2)

    waits = [made.arrive(one, 5000) for _ in range(22)]

    assert waits[:20] == [0] * 20
    assert waits[20:] == [500, 1000]  # (2.1 - 2) / 2 * 10 s; then no more than a window
    assert made.rate.measure(5000) == 2.2


def test_connection_rate_of_zero_delays_each_connection_by_a_window() -> None:
    made, (one,) = accounts(OUTSIDE, rate=0)

    assert [made.arrive(one, now) for now in (0, 1000, 60_000)] == [1000] * 3


def test_connection_rates_are_measured_without_limits() -> None:
    made, (one,) = accounts(OUTSIDE)

    assert [made.arrive(one, 0) for _ in range(1000)] == [0] * 1000
    assert made.rate.measure(0) == one.rate.measure(0) == 100.0
    assert one.throttled.measure(0) is None


# --- rates of addresses


def test_connection_rate_of_an_address_without_a_limit_is_not_measured() -> None:
    made, (one,) = accounts(OUTSIDE)

    assert [made.delay_ms(one, "a", 0) for _ in range(100)] == [0] * 100
    assert made.measured_addresses == 0


def test_refused_connection_of_an_address_does_not_count_in_other_rates() -> None:
    made, (one, inside) = accounts(OUTSIDE, INSIDE)
    made.set_address_rate("a", 2)
    delays = []
    for _ in range(25):
        made.arrive(one, 0)
        delays.append(made.delay_ms(one, "a", 0))

    assert delays[:20] == [0] * 20
    assert delays[20:] == [500] * 5  # each alone is over, as none of them stays
    assert made.rate.measure(0) == one.rate.measure(0) == 2.0
    assert one.refused.measure(0) == 500.0

    made.arrive(inside, 0)
    assert made.delay_ms(inside, "a", 0) == 500
    assert inside.rate.measure(0) == 0.0
    assert made.rate.measure(0) == 2.0  # the protected listener was never in it


def test_rate_limit_of_an_address_precedes_the_default_rate_limit() -> None:
    made, _ = accounts(OUTSIDE)
    made.set_address_rate(None, 5)
    made.set_address_rate("a", 7)
    assert [made.rate_of("a"), made.rate_of("b")] == [7, 5]

    made.set_address_rate("a", None)
    made.set_address_rate("unknown", None)
    assert made.rate_of("a") == 5
    made.set_address_rate(None, None)
    assert made.rate_of("a") is None


def test_changed_rate_limit_of_an_address_applies_to_earlier_connections() -> None:
    made, (one,) = accounts(OUTSIDE)
    made.set_address_rate("a", 100)
    for _ in range(40):
        made.delay_ms(one, "a", 0)

    made.set_address_rate("a", 4)

    assert made.delay_ms(one, "a", 0) > 0


def test_address_without_connections_in_its_windows_is_removed() -> None:
    made, (one,) = accounts(OUTSIDE)
    made.set_address_rate(None, 5)
    for number in range(1000):
        made.delay_ms(one, f"a{number}", number)
    assert made.measured_addresses == 1000

    made.delay_ms(one, "last", 11_500)

    assert made.measured_addresses == 500  # of the last eleven seconds, with this one


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 2)), max_size=60))
def test_removal_of_idle_addresses_does_not_change_delays(arrivals: list[tuple[int, int]]) -> None:
    made, (one,) = accounts(OUTSIDE)
    made.set_address_rate(None, 1)
    models = [Limited(1) for _ in range(3)]
    now = 0
    for pause, address in arrivals:
        now += pause
        expected = models[address].arrive(now)
        if expected:
            models[address].rate.record(-1, now)

        assert made.delay_ms(one, str(address), now) == expected


# --- values


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::FFFF:0a00:0001", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("client-1", "client-1"),
        ("no:address", "no:address"),
    ],
)
def test_address_of_a_host_is_in_canonical_form(host: str, address: str) -> None:
    assert address_of(host) == address


def test_unlimited_bound_is_none_and_times_are_whole_milliseconds() -> None:
    assert [bound_or_none(UNLIMITED), bound_or_none(5)] == [None, 5]
    assert now_ms(1.2345) == 1234
