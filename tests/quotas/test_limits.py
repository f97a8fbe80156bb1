"""Every level of precedence, alone and against all others."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lanes import together
from trio_kafka.quotas.limits import ANY, Entity, Limits, Payer

LEVELS: tuple[Entity, ...] = (
    ("alice", "app"),
    ("alice", ANY),
    ("alice", ""),
    (ANY, "app"),
    (ANY, ANY),
    (ANY, ""),
    ("", "app"),
    ("", ANY),
)
PAYERS = {
    **dict.fromkeys(LEVELS, Payer("alice", "app")),
    ("alice", ""): Payer("alice", ""),
    (ANY, ""): Payer("alice", ""),
    ("", "app"): Payer("", "app"),
    ("", ANY): Payer("", "app"),
}


def holding(*entities: Entity) -> Limits:
    limits = Limits()
    for entity in entities:
        limits.set(entity, LEVELS.index(entity) + 1.0)
    return limits


@together(subset for n in range(1, 9) for subset in combinations(LEVELS, n))
def test_most_specific_level_with_a_quota_applies(subset: tuple[Entity, ...]) -> None:
    limits, first = holding(*subset), subset[0]

    payer = limits.payer("alice", "app")

    assert payer == PAYERS[first]
    assert limits.limit(payer) == LEVELS.index(first) + 1.0


@pytest.mark.parametrize("entity", LEVELS)
def test_client_with_other_names_is_limited_only_by_defaults(entity: Entity) -> None:
    limits = holding(entity)
    payer = limits.payer("bob", "tool")
    of_all = entity in {(ANY, ANY), (ANY, ""), ("", ANY)}
    assert (limits.limit(payer) is not None) == of_all


def test_client_is_unlimited_without_quotas() -> None:
    limits = Limits()
    assert not limits
    assert limits.payer("alice", "app") == Payer("", "app")
    assert limits.limit(Payer("", "app")) is None


def test_clients_of_a_user_share_its_quota_and_other_clients_have_their_own() -> None:
    limits = holding(("alice", ""), ("", ANY))
    assert limits.payer("alice", "a") == limits.payer("alice", "b") == Payer("alice", "")
    assert limits.payer("bob", "a") != limits.payer("bob", "b")
    assert limits.payer("bob", "a") == limits.payer("carol", "a")


def test_a_client_without_an_id_has_no_client_id_limit() -> None:
    limits = holding(("", ANY))
    assert limits.limit(limits.payer("alice", "")) is None


def test_quota_of_the_next_level_applies_after_a_removal() -> None:
    limits = holding(("alice", "app"), ("", "app"))
    limits.set(("alice", "app"), None)
    assert limits.payer("alice", "app") == Payer("", "app")
    limits.set(("", "app"), None)
    assert not limits
    limits.set(("", "app"), None)
    assert len(limits) == 0


@given(st.lists(st.tuples(st.sampled_from(LEVELS), st.none() | st.floats(1, 9)), max_size=40))
def test_quota_lookup_equals_a_search_through_all_levels(
    changes: list[tuple[Entity, float | None]],
) -> None:
    limits = Limits()
    there: dict[Entity, float] = {}
    for entity, limit in changes:
        limits.set(entity, limit)
        there.pop(entity, None)
        if limit is not None:
            there[entity] = limit
        expected = next((there[level] for level in LEVELS if level in there), None)
        assert limits.limit(limits.payer("alice", "app")) == expected
        assert dict(limits) == there
        assert bool(limits) == bool(there)
