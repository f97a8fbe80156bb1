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
    all_accounts, (first, second) = accounts(OUTSIDE, "ADMIN", connections=2)
    for number in range(entered):
        all_accounts.enter((first, second)[number % 2], "10.0.0.1")

    assert all_accounts.has_room(first) == all_accounts.has_room(second) == room
    assert all_accounts.excess == max(0, entered - 2)


def test_listener_without_its_own_limit_has_the_limit_of_the_broker() -> None:
    all_accounts, (inside, outside) = accounts(
        INSIDE, OUTSIDE, connections=2, listeners={OUTSIDE: ListenerBounds(connections=1)}
    )
    all_accounts.enter(outside, "a")
    assert not all_accounts.has_room(outside)

    all_accounts.enter(inside, "a")
    assert all_accounts.has_room(inside)  # protected: the broker's limit is reached, and no matter
    all_accounts.enter(inside, "a")
    assert not all_accounts.has_room(inside)  # but a listener has no more than its own
    assert all_accounts.excess == 1


def test_inter_broker_listener_is_protected_while_another_listener_is_open() -> None:
    all_accounts, (inside, outside) = accounts(
        INSIDE, OUTSIDE, connections=1, listeners={INSIDE: ListenerBounds(connections=9)}
    )
    all_accounts.enter(outside, "a")
    assert [all_accounts.is_protected(inside), all_accounts.is_protected(outside)] == [True, False]
    assert all_accounts.has_room(inside)

    all_accounts.close(outside)

    assert not all_accounts.is_protected(inside)
    assert not all_accounts.has_room(inside)


def test_listener_is_protected_while_a_listener_of_lower_priority_is_open() -> None:
    all_accounts, (inside, control, outside) = accounts(
        INSIDE, "CONTROL", OUTSIDE, protected=("CONTROL", INSIDE), connections=1
    )
    all_accounts.enter(outside, "a")
    assert [all_accounts.is_protected(listener) for listener in (inside, control, outside)] == [
        True,
        True,
        False,
    ]

    all_accounts.close(outside)
    assert [all_accounts.is_protected(listener) for listener in (inside, control)] == [False, True]

    all_accounts.close(inside)
    assert not all_accounts.is_protected(control)


def test_changed_connection_limits_hold_at_once_and_for_later_listeners() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)
    for _ in range(5):
        all_accounts.enter(listener, "a")
    assert all_accounts.excess == 0

    all_accounts.obey(ConnectionBounds(connections=3))
    assert all_accounts.excess == 2
    assert not all_accounts.has_room(listener)
    assert all_accounts.open("LATE").bounds.connections == 3
    all_accounts.obey(ConnectionBounds(connections=6))
    assert all_accounts.has_room(listener)


@pytest.mark.parametrize(
    ("address", "most"), [("10.0.0.1", 2), ("10.0.0.2", 0), ("10.0.0.3", 3), ("::1", 2)]
)
def test_address_has_its_own_connection_limit_or_the_default_limit(address: str, most: int) -> None:
    all_accounts, (listener,) = accounts(
        OUTSIDE, per_address=2, addresses={"10.0.0.2": 0, "10.0.0.3": 3}
    )
    for _ in range(most):
        all_accounts.enter(listener, address)
        assert not all_accounts.is_crowded(address)
    all_accounts.enter(listener, address)
    assert all_accounts.is_crowded(address)
    all_accounts.leave(listener, address)
    assert not all_accounts.is_crowded(address)


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
    all_accounts, opened = accounts(*names)
    closed: set[int] = set()
    there: list[tuple[int, str]] = []
    limit = UNLIMITED
    for action, number, more in steps:
        account, address = opened[number], f"10.0.0.{more}"
        if action == "enter" and number not in closed:
            protected = names[number] == INSIDE and len(closed) < 2
            own = sum(at == number for at, _ in there)
            assert all_accounts.has_room(account) == (
                own < limit and (protected or len(there) < limit)
            )
            all_accounts.enter(account, address)
            there.append((number, address))
        elif action == "leave" and there:
            at, address = there.pop(more % len(there))
            all_accounts.leave(opened[at], address)
        elif action == "limit":
            limit = more or UNLIMITED
            all_accounts.obey(ConnectionBounds(connections=limit))
        elif action == "close" and number not in closed:
            closed.add(number)
            all_accounts.close(account)

        assert all_accounts.total == len(there)
        assert [listener.count for listener in opened] == [
            sum(at == number for at, _ in there) for number in range(3)
        ]
        assert all_accounts.addresses == {
            host: sum(address == host for _, address in there) for _, host in there
        }
        assert all_accounts.excess == max(0, len(there) - limit)


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
    all_accounts, (inside, outside) = accounts(
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
            assert all_accounts.arrive(inside, now) == wait
        else:
            wait = max(broker.arrive(now), own.arrive(now))
            assert all_accounts.arrive(outside, now) == wait
            waited.append(wait)
    if any(waited) and now < 30_000:
        throttled = [wait for wait in waited if wait]
        average = outside.throttled.measure(now)
        assert average is not None
        assert round(average - sum(throttled) / len(throttled), 6) == 0


def test_connection_rate_above_its_limit_is_delayed_up_to_one_window() -> None:
    """10 windows of the 11 count as gone by: 21 connections at once are 2.1 a second."""
    all_accounts, (listener,) = accounts(OUTSIDE, rate=2)

    waits = [all_accounts.arrive(listener, 5000) for _ in range(22)]

    assert waits[:20] == [0] * 20
    assert waits[20:] == [500, 1000]  # (2.1 - 2) / 2 * 10 s; then no more than a window
    assert all_accounts.rate.measure(5000) == 2.2


def test_connection_rate_of_zero_delays_each_connection_by_a_window() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE, rate=0)

    assert [all_accounts.arrive(listener, now) for now in (0, 1000, 60_000)] == [1000] * 3


def test_connection_rates_are_measured_without_limits() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)

    assert [all_accounts.arrive(listener, 0) for _ in range(1000)] == [0] * 1000
    assert all_accounts.rate.measure(0) == listener.rate.measure(0) == 100.0
    assert listener.throttled.measure(0) is None


# --- rates of addresses


def test_connection_rate_of_an_address_without_a_limit_is_not_measured() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)

    assert [all_accounts.delay_ms(listener, "a", 0) for _ in range(100)] == [0] * 100
    assert all_accounts.measured_addresses == 0


def test_refused_connection_of_an_address_does_not_count_in_other_rates() -> None:
    all_accounts, (outside, inside) = accounts(OUTSIDE, INSIDE)
    all_accounts.set_address_rate("a", 2)
    delays = []
    for _ in range(25):
        all_accounts.arrive(outside, 0)
        delays.append(all_accounts.delay_ms(outside, "a", 0))

    assert delays[:20] == [0] * 20
    assert delays[20:] == [500] * 5  # each alone is over, as none of them stays
    assert all_accounts.rate.measure(0) == outside.rate.measure(0) == 2.0
    assert outside.refused.measure(0) == 500.0

    all_accounts.arrive(inside, 0)
    assert all_accounts.delay_ms(inside, "a", 0) == 500
    assert inside.rate.measure(0) == 0.0
    assert all_accounts.rate.measure(0) == 2.0  # the protected listener was never in it


def test_rate_limit_of_an_address_precedes_the_default_rate_limit() -> None:
    all_accounts, _ = accounts(OUTSIDE)
    all_accounts.set_address_rate(None, 5)
    all_accounts.set_address_rate("a", 7)
    assert [all_accounts.rate_of("a"), all_accounts.rate_of("b")] == [7, 5]

    all_accounts.set_address_rate("a", None)
    all_accounts.set_address_rate("unknown", None)
    assert all_accounts.rate_of("a") == 5
    all_accounts.set_address_rate(None, None)
    assert all_accounts.rate_of("a") is None


def test_changed_rate_limit_of_an_address_applies_to_earlier_connections() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)
    all_accounts.set_address_rate("a", 100)
    for _ in range(40):
        all_accounts.delay_ms(listener, "a", 0)

    all_accounts.set_address_rate("a", 4)

    assert all_accounts.delay_ms(listener, "a", 0) > 0


def test_address_without_connections_in_its_windows_is_removed() -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)
    all_accounts.set_address_rate(None, 5)
    for number in range(1000):
        all_accounts.delay_ms(listener, f"a{number}", number)
    assert all_accounts.measured_addresses == 1000

    all_accounts.delay_ms(listener, "last", 11_500)

    assert all_accounts.measured_addresses == 500  # of the last eleven seconds, with this one


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 2)), max_size=60))
def test_removal_of_idle_addresses_does_not_change_delays(arrivals: list[tuple[int, int]]) -> None:
    all_accounts, (listener,) = accounts(OUTSIDE)
    all_accounts.set_address_rate(None, 1)
    models = [Limited(1) for _ in range(3)]
    now = 0
    for pause, address in arrivals:
        now += pause
        expected = models[address].arrive(now)
        if expected:
            models[address].rate.record(-1, now)

        assert all_accounts.delay_ms(listener, str(address), now) == expected


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
