import pytest

from trio_kafka.config.quorum import address_of, parse_voter
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("1@h:9093", "h", 9093), ("1@[::1]:1", "::1", 1), ("1@10.0.0.1:65535", "10.0.0.1", 65535)],
)
def test_a_voter_has_an_id_and_an_address(text, host, port):
    assert parse_voter(text) == (1, Endpoint(host, port))


@pytest.mark.parametrize("text", ["", "1", "@h:1", "1@h", "1@:1", "1@h:x", "x@h:1", "1@[]:1"])
def test_a_voter_without_an_id_host_or_port_is_refused(text):
    with pytest.raises(ConfigError, match="is not ID@HOST:PORT"):
        parse_voter(text)


def test_the_address_of_a_node_is_that_of_its_own_vote():
    voters = ("1@a:1", "2@b:2")

    assert address_of(2, voters) == Endpoint("b", 2)
    assert address_of(3, voters) is None
