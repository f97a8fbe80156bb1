"""Parts, and those that are missing."""

import pytest

from trio_kafka.model import NO_NODE
from trio_kafka.requests.parts import Missing, MissingPartError, Parts, StaticFeatures
from trio_kafka.requests.registry import Registry


def test_a_missing_part_says_which_it_is() -> None:
    with pytest.raises(MissingPartError, match=r"no groups .*\.heartbeat"):
        Missing("groups").heartbeat  # noqa: B018 - reading it is what fails


def test_without_more_nothing_is_known_of_cluster_and_features() -> None:
    parts = Parts(apis=Registry())

    assert (parts.node_id, parts.cluster_id) == (NO_NODE, "")
    assert parts.features == StaticFeatures({}, {}, -1)
