"""Two moments side by side."""

from tests.trio_kafka_admin.findings.kit import group, lag, moment, node
from trio_kafka_admin.findings.change import Change


def test_figures_grow_since_the_earlier_moment_and_new_nodes_from_nothing() -> None:
    before = moment(1.0, node("a", "part", count=3))
    now = moment(3.0, node("a", "part", count=5), node("b", "part", count=2))
    change = Change(before, now)

    assert [(place.name, place.grown("count")) for place in change.nodes] == [("a", 2), ("b", 2)]
    assert change.seconds == 2.0


def test_nothing_grows_without_an_earlier_moment() -> None:
    change = Change(None, moment(3.0, node("a", "part", count=5)))

    assert [place.grown("count") for place in change.nodes] == [0.0]
    assert change.seconds is None
    assert change.past_partitions("g") == {}


def test_nodes_are_found_by_kind_by_name_and_by_the_name_above() -> None:
    change = Change(None, moment(1.0, node("a/x", "part"), node("b/x", "job"), node("a", "plane")))

    assert [place.name for place in change.of_kind("job")] == ["b/x"]
    assert [place.name for place in change.named("x")] == ["a/x", "b/x"]
    assert [place.name for place in change.below("a")] == ["a/x"]
    assert change.of_kind("log") == ()


def test_partitions_of_the_earlier_moment_are_found_by_group() -> None:
    row = lag(2, offset=1, end=3)
    change = Change(moment(0.0, groups=[group("g", partitions=(row,))]), moment(1.0))

    assert change.past_partitions("g") == {("t", 2): row}
    assert change.past_partitions("other") == {}
