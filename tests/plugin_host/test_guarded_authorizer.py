"""Authorizers of plugins behind the guard: their decisions pass, their exceptions are reported."""

from typing import Any, cast

import pytest

from tests.apis.authorizers import allow_only
from trio_kafka.plugin_host.guard import InFlight, Owner
from trio_kafka.plugin_host.guarded_authorizer import GuardedAuthorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY
from trio_kafka.security.resources import Resource, ResourceType

RESOURCE = Resource(ResourceType.TOPIC, "t")


class RecordedFailures:
    """Owner that keeps its failures."""

    name = "mine"
    limiter = None
    deadline_s = 1.0

    def __init__(self) -> None:
        self.in_flight = InFlight()
        self.failures: list[tuple[str, str]] = []

    def failed(self, error: BaseException, where: str) -> None:
        self.failures.append((str(error), where))


class Broken:
    def authorize(self, *_: Any) -> bool:
        raise LookupError("no table")

    authorize_any = authorize


def test_decisions_of_a_plugin_pass_the_guard() -> None:
    owner = RecordedFailures()
    guarded = GuardedAuthorizer(allow_only("t", "*"), cast("Owner", owner))

    assert guarded.name == "RuleAuthorizer"
    assert guarded.authorize(NOBODY, "", Operation.READ, RESOURCE) is True
    assert guarded.authorize(NOBODY, "", Operation.READ, RESOURCE._replace(name="u")) is False
    assert guarded.authorize_any(NOBODY, "", Operation.READ, ResourceType.TOPIC) is True
    assert owner.failures == []


async def test_an_exception_of_a_plugin_allows_nothing_and_is_reported() -> None:
    owner = RecordedFailures()
    guarded = GuardedAuthorizer(Broken(), cast("Owner", owner))

    with pytest.raises(LookupError):
        guarded.authorize(NOBODY, "", Operation.READ, RESOURCE)
    with pytest.raises(LookupError):
        guarded.authorize_any(NOBODY, "", Operation.READ, ResourceType.TOPIC)
    assert owner.failures == [("no table", "authorizer")] * 2
