"""Counters by name and labels."""

from trio_kafka.introspect.metrics import Counters, Reading


def test_counter_is_the_same_for_labels_in_any_order() -> None:
    counters = Counters()
    counters.add("closed", listener="A", reason="idle")
    counters.add("closed", 4, reason="idle", listener="A")
    counters.add("closed", listener="B", reason="idle")
    counters.add("closed")

    assert counters.value("closed", reason="idle", listener="A") == 5
    assert counters.value("closed", reason="gone", listener="A") == 0
    assert counters.total("closed") == 7
    assert Reading("closed", (("listener", "A"), ("reason", "idle")), 5) in list(counters)


def test_counter_object_is_reused_for_equal_labels() -> None:
    counters = Counters()
    counter = counters.counter("requests", api="Fetch")
    counter.value += 3

    assert counters.counter("requests", api="Fetch") is counter
    assert counters.value("requests", api="Fetch") == 3


def test_figures_have_one_entry_per_label_combination() -> None:
    counters = Counters()
    counters.add("closed", 2, reason="bad frame", listener="A")
    counters.add("errors")

    assert counters.figures() == {"closed.A.bad-frame": 2, "errors": 1}
