"""The nearest name to one that does not exist."""

from trio_kafka.cli.near_names import nearest


def test_hint_names_what_is_most_alike_or_nothing() -> None:
    assert nearest("ordrs", ["ordeals", "orders"]) == "; did you mean orders?"
    assert nearest("x", ["orders"]) == ""
