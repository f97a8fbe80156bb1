"""Parts, and those that are missing."""

import pytest

from trio_kafka.model import NO_NODE
from trio_kafka.requests.parts import Missing, MissingPartError, Parts, StaticFeatures
from trio_kafka.requests.registry import Registry


def test_missing_part_is_named_in_its_error() -> None:
    with pytest.raises(MissingPartError, match=r"no groups .*\.heartbeat"):
        Missing("groups").heartbeat  # noqa: B018 - reading it is what fails


def test_parts_have_no_node_id_cluster_id_or_features_by_default() -> None:
    parts = Parts(apis=Registry())

    assert (parts.node_id, parts.cluster_id) == (NO_NODE, "")
    assert parts.features == StaticFeatures({}, {}, -1)
