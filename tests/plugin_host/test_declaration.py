from contextlib import asynccontextmanager
from typing import Any

import pytest
from attrs import frozen

from trio_kafka.plugin import string
from trio_kafka.plugin_host.declaration import NoSettings, plugin
from trio_kafka.protocol.messages.k01_fetch import FetchRequest


@asynccontextmanager
async def run(context: Any) -> Any:
    """Does something.

    And more.
    """
    yield


def test_a_plugin_has_the_declared_name_order_policy_and_limits() -> None:
    result = plugin("p", order=7, policy="fatal", limit=2, apis={FetchRequest: (4, 18), 0: (3, 9)})(
        run
    )

    assert (result.name, result.order, result.policy, result.limit) == ("p", 7, "fatal", 2)
    assert result.doc.startswith("Does something.")
    assert result.apis == {1: (4, 18), 0: (3, 9)}
    assert result.settings is NoSettings
    assert result.module == __name__


@pytest.mark.parametrize("name", ["", "P", "a.b", "1a", "a b", "é"])
def test_plugin_names_that_are_invalid_in_settings_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="want a name of a-z"):
        plugin(name)


def test_declaring_a_setting_that_every_plugin_has_is_refused() -> None:
    @frozen(kw_only=True)
    class Settings:
        order: str = string("", "Mine.")

    with pytest.raises(TypeError, match="order is a setting of every plugin"):
        plugin("p", settings=Settings)


def test_declaring_versions_of_a_class_that_is_not_a_request_is_refused() -> None:
    from trio_kafka.protocol.schema import data

    @data(versions="0")
    class Header:
        """No request."""

    with pytest.raises(TypeError, match="is not a request class"):
        plugin("p", apis={Header: (0, 1)})(run)
