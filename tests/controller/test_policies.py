import pytest

from trio_kafka.controller.policies import Policies, TopicToCreate, approved
from trio_kafka.errors import ErrorCode, KafkaError

TOPIC = TopicToCreate(name="t", partitions=1, replication_factor=1, assignments=None, configs={})


def test_every_request_is_approved_without_policies() -> None:
    policies = Policies()

    assert policies.approvals("User:a").topic is approved
    assert policies.approvals("User:a").configs is approved
    approved(TOPIC)


def test_every_policy_gets_the_principal_and_one_refusal_refuses() -> None:
    policies, seen = Policies(), []

    def refuse(topic: TopicToCreate, principal: str) -> None:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "no")

    policies.topics += [lambda topic, principal: seen.append((topic, principal)), refuse]

    with pytest.raises(KafkaError, match="no") as caught:
        policies.approvals("User:a").topic(TOPIC)
    assert caught.value.code is ErrorCode.POLICY_VIOLATION
    assert seen == [(TOPIC, "User:a")]


def test_a_policy_that_raises_refuses_with_unknown_server_error() -> None:
    policies = Policies()
    policies.topics.append(lambda topic, principal: 1 / 0)  # type: ignore[arg-type, return-value]

    with pytest.raises(KafkaError) as caught:
        policies.approvals("User:a").topic(TOPIC)
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
