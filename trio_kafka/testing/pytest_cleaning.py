"""Broker of one test or of several: what a test may not leave to the next one.

Topics and groups are deleted, transactions of the kit aborted, the clock is reset. Clients still
connected, fault rules that matched nothing, and errors of rules and coroutines are reported.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.controls.clients import Client, connected_clients
from trio_kafka.controls.controls import BlockingControls, Controls
from trio_kafka.controls.faults.faults import described
from trio_kafka.controls.topics import NOT_THERE
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.kafka.waiting import NotReachedError
from trio_kafka.testing.loop_thread import LoopEndedError

_CLOSING_S: Final = 2.0  # for the end of connections that a test has closed
_CHANGED: Final = frozenset({*NOT_THERE, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NON_EMPTY_GROUP})


@define(eq=False, kw_only=True)
class BrokerInUse:
    """A broker in use. user: the test, or the scope that shares it.

    kept: topics that outlive a test. leftover: clients that an earlier test left.
    reported: errors of its rules and coroutines that an earlier test has reported.
    """

    kafka: Kafka
    user: str
    is_shared: bool = False
    kept: set[str] = field(factory=set)
    leftover: set[Client] = field(factory=set)
    reported: list[BaseException] = field(factory=list)
    failed_in: str = ""


def complaints(controls: Controls | BlockingControls, reported: list[BaseException]) -> list[str]:
    """Return what is wrong with the rules and coroutines of a test; note its errors."""
    unmatched = controls.faults.unmatched if isinstance(controls, Controls) else controls.unmatched
    texts = [
        f"no request matched the fault rule {described(fault)}"
        for fault in unmatched
        if not fault.rule.observe
    ]
    for error, place in controls.failures:
        if all(error is not earlier for earlier in reported):
            reported.append(error)
            texts.append(f"{place} raised {error!r}")
    return texts


def clients_left(used: BrokerInUse, test: pytest.Item, *, has_failed: bool) -> set[Client]:
    """Return the clients that a passed test left, after a moment for those it closed.

    The traceback of a failed test keeps its clients alive, so they are not counted.
    """

    def unclosed() -> set[Client]:
        return set(used.kafka.look(connected_clients)) - used.leftover

    if not unclosed():
        return set()
    if has_failed:
        used.leftover.update(unclosed())
        return set()
    # A client that only a fixture's value refers to is closed by its destructor.
    getattr(test, "funcargs", {}).clear()
    gc.collect()
    kafka = used.kafka

    def has_left() -> bool:
        return not set(connected_clients(kafka.in_loop.broker)) - used.leftover

    try:
        kafka.wait_until(has_left, timeout_s=_CLOSING_S)
    except NotReachedError:
        return unclosed()
    return set()


def clean(used: BrokerInUse) -> None:
    """Undo a test's moves of a shared broker's clock; abort its transactions; delete its topics and
    groups.
    """
    kafka = used.kafka
    kafka.reset_clock()
    if kafka.in_loop.release is not None:
        kafka.as_version(None)
    kafka.thread.call(kafka.in_loop.kit_transactions.abort_all, kafka.broker)
    for name in set(kafka.topics()) - used.kept:
        with _unless_changed():
            kafka.delete_topic(name)
    for group in kafka.groups():
        if not group.members:
            with _unless_changed():
                kafka.delete_group(group.group_id)


def topics_of(kafka: Kafka) -> set[str]:
    """Return the names of a broker's topics; empty if it cannot be asked."""
    try:
        return set(kafka.topics()) if kafka.is_running and not kafka.is_paused else set()
    except LoopEndedError:
        return set()


@contextmanager
def _unless_changed() -> Iterator[None]:
    """Ignore that a client has deleted a topic or a group meanwhile, or joined a group."""
    try:
        yield
    except KafkaError as error:
        if error.code not in _CHANGED:
            raise
