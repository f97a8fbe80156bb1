"""The cluster that a command asks."""

from trio_kafka.cli.cluster_address import Bootstrap


def test_cluster_is_its_addresses_as_a_text() -> None:
    assert Bootstrap("h:1", {"a": "b"}) == "h:1"
    assert Bootstrap("h:1").settings == {}


def test_another_client_of_the_cluster_has_no_properties_of_the_first() -> None:
    other = Bootstrap("h:1", {"a": "b"}, {"c": "d"}).without_properties()

    assert (other, other.settings, other.properties) == ("h:1", {"a": "b"}, {})
