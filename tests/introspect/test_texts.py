"""Texts of peers are cut, and labels of metrics stay different."""

from trio_kafka.introspect.texts import LONGEST_FIELD, LONGEST_NAME, bounded, distinct, shortened


def test_long_text_is_shortened_to_its_beginning_with_its_length() -> None:
    assert shortened("a" * LONGEST_NAME) == "a" * LONGEST_NAME
    assert shortened("a" * 32_767) == "a" * LONGEST_NAME + "... (32767 characters)"


def test_shortened_long_labels_stay_distinct() -> None:
    first, second = distinct("g" * 30_000 + "1"), distinct("g" * 30_000 + "2")

    assert first != second
    assert max(len(first), len(second)) < LONGEST_NAME + 20
    assert distinct("g") == "g"
    assert distinct("\ud800" * 1000) == distinct("\ud800" * 1000), "not encodable, but a label"


def test_lists_and_tables_of_an_event_are_shortened_with_their_texts() -> None:
    long = "a" * 5000

    assert bounded([long]) == [shortened(long, LONGEST_FIELD)]
    assert bounded(list(range(101))) == [*range(100), "1 more"]
    assert bounded({long: (long,)}) == {
        shortened(long, LONGEST_FIELD): [shortened(long, LONGEST_FIELD)]
    }
    assert len(bounded(dict.fromkeys(range(1000), 1))) == 101  # type: ignore[arg-type]


def test_short_values_keep_their_types() -> None:
    values = {"text": "", "number": 1, "none": None, "list": [1.5, True], "object": shortened}

    assert bounded(values) == values
