"""The authorizer that allows everything, and what counts as this machine."""

import pytest

from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer, is_loopback
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY
from trio_kafka.security.resources import THE_CLUSTER, ResourceType


def test_allow_all_allows_every_operation() -> None:
    authorizer: Authorizer = ALLOW_ALL

    assert authorizer.authorize(NOBODY, "10.0.0.1", Operation.ALTER, THE_CLUSTER)
    assert authorizer.authorize_any(NOBODY, "10.0.0.1", Operation.WRITE, ResourceType.TOPIC)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:127.8.9.1"],
)
def test_loopback_addresses_are_recognized(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "128.0.0.1",
        "126.255.255.255",
        "0.0.0.0",
        "::",
        "::2",
        "::ffff:10.0.0.1",
        "::ffff:128.0.0.1",
        "::127.0.0.1",  # not mapped: an address of the network
        "fe80::1%lo",
        "fd00::1",
        "localhost",
        "127.0.0.1.example.com",
        "127.1",
        "2130706433",
        "in-process",
        "",
    ],
)
def test_other_addresses_are_not_loopback(address: str) -> None:
    assert not is_loopback(address)
