"""Place of a plugin's authorizer: it decides while the plugin runs, else nothing is allowed."""

import pytest

from tests.apis.authorizers import allow_only
from trio_kafka.security.contributed import ContributedAuthorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, NOBODY, Principal
from trio_kafka.security.resources import Resource, ResourceType


def allowed(place: ContributedAuthorizer, name: str, principal: Principal = NOBODY) -> bool:
    return place.authorize(principal, "", Operation.READ, Resource(ResourceType.TOPIC, name))


def test_without_the_plugin_only_the_broker_may_do_something() -> None:
    place = ContributedAuthorizer("mine")

    assert not allowed(place, "t")
    assert not place.authorize_any(NOBODY, "", Operation.READ, ResourceType.TOPIC)
    assert allowed(place, "t", BROKER)
    assert place.authorize_any(BROKER, "", Operation.READ, ResourceType.TOPIC)


def test_the_authorizer_of_the_plugin_decides_while_it_is_there() -> None:
    place = ContributedAuthorizer("mine")
    first, second = allow_only("t", "*"), allow_only("u")

    place.swap((), (first,))
    assert (allowed(place, "t"), allowed(place, "u")) == (True, False)
    assert place.authorize_any(NOBODY, "", Operation.READ, ResourceType.TOPIC)
    place.swap((first,), (second,))
    assert (allowed(place, "t"), allowed(place, "u")) == (False, True)
    place.swap((second,), ())
    assert not allowed(place, "u")


def test_a_second_authorizer_of_the_plugin_is_refused() -> None:
    place = ContributedAuthorizer("mine")
    place.swap((), (allow_only("t"),))

    with pytest.raises(ValueError, match="want one"):
        place.swap((), (allow_only("u"),))
    assert allowed(place, "t")
