import pytest

from trio_kafka.model import Endpoint
from trio_kafka_spark.client.values import choice, endpoints, flag, integer, words


def test_bootstrap_servers_are_parsed_as_a_list_of_hosts_with_ports() -> None:
    assert endpoints("a:1, b.example:9092,") == (Endpoint("a", 1), Endpoint("b.example", 9092))
    assert endpoints("PLAINTEXT://a:1") == (Endpoint("a", 1),)
    assert endpoints("[::1]:9092") == (Endpoint("::1", 9092),)


@pytest.mark.parametrize("text", ["", ",", "a", "a:", ":1", "a:0", "a:65536", "::1:9092", "a:b"])
def test_a_malformed_address_is_refused_with_the_expected_form(text: str) -> None:
    with pytest.raises(ValueError, match="want HOST:PORT"):
        endpoints(text)


def test_a_number_outside_its_bounds_is_refused() -> None:
    assert [integer(-1, 5)(text) for text in ("-1", " 5 ")] == [-1, 5]
    for text, message in (("6", "6 is out of range: want -1 to 5"), ("x", "'x' is no whole")):
        with pytest.raises(ValueError, match=message):
            integer(-1, 5)(text)


def test_flags_and_choices_are_case_insensitive() -> None:
    assert [flag(text) for text in ("true", "FALSE")] == [True, False]
    assert choice("SSL", "PLAINTEXT")("ssl") == "SSL"
    with pytest.raises(ValueError, match="want true or false"):
        flag("yes")
    with pytest.raises(ValueError, match="want SSL or PLAINTEXT"):
        choice("SSL", "PLAINTEXT")("TLS")


def test_a_parsed_list_has_no_empty_items() -> None:
    assert words(" a ,,b") == ("a", "b")
