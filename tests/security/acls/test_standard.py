"""The standard authorizer: decisions of Apache Kafka, super users, loading."""

from collections.abc import Callable

import pytest

from tests.apis.acls import allow, deny
from tests.installed import skipped_if_missing
from tests.security.acls.oracle.cases import (
    decide,
    decided_by_kafka,
    random_case,
    recorded,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, NOBODY, Principal
from trio_kafka.security.resources import Resource, ResourceType

TOPIC = Resource(ResourceType.TOPIC, "t")
HOST = "10.0.0.1"
ANN = Principal("User", "ann")


def test_recorded_decisions_of_kafka_are_made_here_too() -> None:
    cases = list(recorded())

    assert sum(len(case.requests) for case in cases) == 1000
    for number, case in enumerate(cases):
        assert decide(case) == case.decisions, number
    allowed = sum(case.decisions.count("1") for case in cases)
    assert 300 < allowed < 700


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_apache_kafka_decides_a_hundred_thousand_random_requests_in_the_same_way() -> None:
    cases = [random_case(seed, requests=100) for seed in range(1000, 2000)]
    with skipped_if_missing():
        decisions = decided_by_kafka(cases)

    for seed, (case, expected) in enumerate(zip(cases, decisions, strict=True), 1000):
        assert decide(case) == expected, seed


def test_super_users_and_the_broker_may_do_everything_before_entries_are_loaded() -> None:
    authorizer = StandardAuthorizer(["User:ann"])

    for principal in (ANN, BROKER):
        assert authorizer.authorize(principal, HOST, Operation.READ, TOPIC)
        assert authorizer.authorize_any(principal, HOST, Operation.WRITE, ResourceType.TOPIC)


def test_nothing_is_decided_about_others_before_the_entries_are_loaded() -> None:
    authorizer = StandardAuthorizer(["User:ann"], allow_unmatched=True)

    asks: list[Callable[[], bool]] = [
        lambda: authorizer.authorize(NOBODY, HOST, Operation.READ, TOPIC),
        lambda: authorizer.authorize_any(NOBODY, HOST, Operation.READ, ResourceType.TOPIC),
    ]
    for ask in asks:
        with pytest.raises(KafkaError) as caught:
            ask()
        assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_client_cannot_have_the_principal_of_the_broker() -> None:
    authorizer = StandardAuthorizer()
    authorizer.loaded = True

    assert not authorizer.authorize(Principal("User", BROKER.text), HOST, Operation.READ, TOPIC)
    assert not authorizer.authorize(Principal("User", BROKER.name), HOST, Operation.READ, TOPIC)


def test_all_allowed_operations_are_those_that_are_allowed_one_by_one() -> None:
    authorizer = StandardAuthorizer()
    authorizer.loaded = True
    for acl in (
        allow(Operation.ALL, name="t"),
        deny(Operation.DELETE, ResourceType.TOPIC, "t"),
        allow(Operation.ALTER_CONFIGS, name="u"),
    ):
        authorizer.index.add(acl)

    for name in ("t", "u", "v"):
        resource = Resource(ResourceType.TOPIC, name)
        mask = authorizer.allowed(NOBODY, HOST, resource)
        single = [
            operation
            for operation in Operation
            if authorizer.authorize(NOBODY, HOST, operation, resource)
        ]
        assert [operation for operation in Operation if mask >> operation & 1] == single
