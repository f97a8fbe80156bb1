from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.config.values import Kind, parse, show

BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.BOOLEAN, " True ", True),
        (Kind.BOOLEAN, "FALSE", False),
        (Kind.STRING, "  a b ", "a b"),
        (Kind.INT, "+7", 7),
        (Kind.SHORT, "-32768", -32768),
        (Kind.LONG, "9223372036854775807", 2**63 - 1),
        (Kind.DOUBLE, ".5", 0.5),
        (Kind.DOUBLE, "1.5e3", 1500.0),
        (Kind.LIST, "", ()),
        (Kind.LIST, "a , b,c", ("a", "b", "c")),
        (Kind.CLASS, "org.Example", "org.Example"),
        (Kind.PASSWORD, "s3cret", "s3cret"),
    ],
)
def test_texts_are_trimmed_and_read_by_type(kind, text, value):
    assert parse(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Kind.BOOLEAN, "yes", "'yes' is not a boolean: want true or false"),
        (Kind.INT, "1_000", "'1_000' is not a whole number"),
        (Kind.INT, "", "'' is not a whole number"),
        (Kind.INT, "1.0", "'1.0' is not a whole number"),
        (Kind.INT, "\u0663", "'\u0663' is not a whole number"),
        (Kind.INT, "2147483648", "2147483648 is out of range: want -2147483648 to 2147483647"),
        (Kind.SHORT, "-32769", "-32769 is out of range: want -32768 to 32767"),
        (Kind.LONG, "9223372036854775808", "is out of range"),
        (Kind.DOUBLE, "NaN", "'NaN' is not a number"),
        (Kind.DOUBLE, "1e999", "1e999 is out of range"),
    ],
)
def test_a_text_of_the_wrong_type_is_refused_with_the_text_found(kind, text, message):
    with pytest.raises(ValueError) as caught:
        parse(kind, text)

    assert message in str(caught.value)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("start", ["1", ".1", "1.1", "1e1", "a,", "-", " 1"])
def test_a_text_of_32000_characters_is_parsed_without_excessive_backtracking(kind, start):
    """A regular expression with a choice takes minutes for 30,000 digits and a letter."""
    with suppress(ValueError):
        parse(kind, start * (32_000 // len(start)) + "x")


@given(st.sampled_from(sorted(BITS)), st.data())
def test_every_integer_survives_a_round_trip_through_text(kind, data):
    limit = 1 << (BITS[kind] - 1)
    value = data.draw(st.integers(-limit, limit - 1))

    assert parse(kind, show(kind, value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_survives_a_round_trip_through_text(value):
    assert parse(Kind.DOUBLE, show(Kind.DOUBLE, value)) == value


@given(st.lists(st.text("abc.:/*", min_size=1)))
def test_every_list_survives_a_round_trip_through_text(items):
    assert parse(Kind.LIST, show(Kind.LIST, tuple(items))) == tuple(items)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e10, "-1.25E10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_doubles_are_shown_as_java_shows_them(value, text):
    assert show(Kind.DOUBLE, value) == text


def test_unset_has_no_text_and_booleans_are_lower_case():
    assert show(Kind.INT, None) is None
    assert (show(Kind.BOOLEAN, True), show(Kind.BOOLEAN, False)) == ("true", "false")
