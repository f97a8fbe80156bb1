"""Changes are paid for with tokens: refused before, or waited for after."""

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.quotas.client import Windows
from trio_kafka.quotas.mutation import MutationQuota


class Clock:
    """Of milliseconds."""

    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


def quota(clock: Clock, rate: float | None = 1.0) -> MutationQuota:
    mutation_quota = MutationQuota(
        "ControllerMutation", windows=Windows(10, 1000), node=Node("n", "part"), now_ms=clock
    )
    mutation_quota.accounts.set(("u", ""), rate)
    return mutation_quota


def test_strict_mutation_is_refused_while_the_bucket_is_overdrawn(clock: Clock) -> None:
    mutation = quota(clock)
    charges = mutation.charges("u", "c", strict=True)

    charges(14)  # of 10
    assert charges.left_ms() == 0
    with pytest.raises(KafkaError) as refused:
        charges(1)

    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert charges.left_ms() == 4000
    clock.now_ms = 1500
    assert charges.left_ms() == 2500
    clock.now_ms = 4000
    charges(1)
    clock.now_ms = 9000
    assert charges.left_ms() == 0


def test_refused_mutation_takes_no_tokens(clock: Clock) -> None:
    mutation = quota(clock)
    charges = mutation.charges("u", "c", strict=True)
    charges(11)
    for _ in range(5):
        with pytest.raises(KafkaError):
            charges(100)
    clock.now_ms = 1000
    mutation.charges("u", "c", strict=True)(1)


def test_lenient_mutation_waits_for_all_its_tokens(clock: Clock) -> None:
    charges = quota(clock).charges("u", "c", strict=False)
    for partitions, wait_ms in ((14, 4000), (6, 10_000)):
        charges(partitions)
        assert charges.left_ms() == wait_ms


def test_clients_of_a_user_share_a_bucket(clock: Clock) -> None:
    mutation = quota(clock)
    mutation.charges("u", "c", strict=False)(12)
    with pytest.raises(KafkaError):
        mutation.charges("u", "d", strict=True)(1)
    mutation.charges("v", "d", strict=True)(1000)


def test_mutations_without_a_quota_are_not_counted(clock: Clock) -> None:
    mutation = quota(clock, None)
    charges = mutation.charges("u", "c", strict=True)
    charges(10**9)
    charges(10**9)
    assert charges.left_ms() == 0
    assert len(mutation.accounts) == 0


def test_mutation_of_a_user_without_a_quota_is_not_refused(clock: Clock) -> None:
    mutation = quota(clock)
    charges = mutation.charges("v", "c", strict=True)
    charges(10**9)
    charges(10**9)
    assert charges.left_ms() == 0


def test_figures_of_a_mutation_quota_have_the_names_of_kafkas_metrics(clock: Clock) -> None:
    mutation = quota(clock)
    mutation.charges("u", "c", strict=False)(14)
    (node,) = mutation.accounts.node.children
    assert node.figures() == {
        "tokens": -4.0,
        "mutation-rate": pytest.approx(14 / 30),
        "throttle-time": None,
        "limit": 1.0,
    }
