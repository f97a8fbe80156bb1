import pytest

from trio_kafka.broker.step_timings import StepTimings
from trio_kafka.introspect.tree import Node


def test_each_step_has_a_duration_in_the_order_of_execution_and_in_the_tree() -> None:
    times = iter([1.0, 1.5, 2.0, 2.25])
    root = Node("broker", "broker")
    steps = StepTimings("start", lambda: next(times), root)

    with steps.step("second"):
        pass
    with steps.step("first"):
        pass

    assert list(steps.durations.items()) == [("second", 0.5), ("first", 0.25)]
    assert steps.total_ms == 750
    (node,) = root.children
    assert (node.name, node.figures()) == ("start", {"second": 500.0, "first": 250.0})


def test_failed_step_has_a_duration_too() -> None:
    times = iter([1.0, 3.0])
    steps = StepTimings("stop", lambda: next(times), Node("broker", "broker"))

    with pytest.raises(ValueError, match="no"), steps.step("logs"):
        raise ValueError("no")

    assert steps.durations == {"logs": 2.0}
