"""APIs by name, key and class."""

import pytest

from trio_kafka.controls.api_names import ApiName, UnknownApiError, key_of_api, name_of_api
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.requests.registry import Registry
from trio_kafka_apis import k00_produce, k12_heartbeat


def apis() -> Registry:
    registry = Registry()
    registry.add_module(k00_produce)
    registry.add_module(k12_heartbeat)
    return registry


def test_api_is_found_by_name_key_and_request_class() -> None:
    assert {key_of_api(api, apis()) for api in ("Produce", 0, ProduceRequest)} == {0}
    assert name_of_api(12, apis()) == "Heartbeat"


def test_api_that_is_switched_off_is_still_found_by_name() -> None:
    registry = apis()
    registry.narrow({0: (0, -1)})

    assert key_of_api("Produce", registry) == 0


@pytest.mark.parametrize(
    ("api", "why"),
    [
        ("Prodce", "this broker has no 'Prodce'; did you mean 'Produce'"),
        ("xyz", "this broker has no 'xyz': want one of Heartbeat, Produce"),
        (99, "no API with key 99"),
        (FetchRequest, "this broker does not serve FetchRequest"),
    ],
)
def test_unknown_api_names_keys_and_classes_are_rejected(api: ApiName, why: str) -> None:
    with pytest.raises(UnknownApiError, match=why):
        key_of_api(api, apis())
