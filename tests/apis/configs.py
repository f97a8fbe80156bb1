"""Settings over the protocol, for the tests of the APIs that change and describe them."""

from collections.abc import Sequence
from typing import Any

from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages import k33_alter_configs as k33
from trio_kafka.protocol.messages import k44_incremental_alter_configs as k44
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from trio_kafka.testing.broker import ServedBroker

TOPIC, BROKER, LOGGER = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.BROKER,
    ConfigResourceType.BROKER_LOGGER,
)
METRICS, GROUP = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
SET, DELETE, APPEND, SUBTRACT = range(4)

Change = tuple[str, int, str | None]
Setting = tuple[str, str | None]


def changes_of(kind: int, name: str, *changes: Change) -> k44.AlterConfigsResource:
    return k44.AlterConfigsResource(
        kind, name, [k44.AlterableConfig(*change) for change in changes]
    )


def settings_of(kind: int, name: str, *settings: Setting) -> k33.AlterConfigsResource:
    return k33.AlterConfigsResource(
        kind, name, [k33.AlterableConfig(*setting) for setting in settings]
    )


def results(answer: Any) -> list[tuple[int, int, str]]:
    """Error, type and name of each resource of an answer; only errors have a text."""
    for row in answer.responses:
        assert (row.error_message is not None) == bool(row.error_code), row
    return [(row.error_code, row.resource_type, row.resource_name) for row in answer.responses]


async def alter(
    served: ServedBroker,
    kind: int,
    name: str,
    *changes: Change,
    version: int = 1,
    validate_only: bool = False,
) -> tuple[int, str | None]:
    """Change single settings of one resource; error and text."""
    request = k44.IncrementalAlterConfigsRequest([changes_of(kind, name, *changes)], validate_only)
    answer = await served.ask(request, version)
    ((code, *_),) = results(answer)
    return code, answer.responses[0].error_message


async def put(
    served: ServedBroker,
    kind: int,
    name: str,
    *settings: Setting,
    version: int = 2,
    validate_only: bool = False,
) -> tuple[int, str | None]:
    """Let these be all settings of one resource; error and text."""
    request = k33.AlterConfigsRequest([settings_of(kind, name, *settings)], validate_only)
    answer = await served.ask(request, version)
    ((code, *_),) = results(answer)
    return code, answer.responses[0].error_message


async def described(
    served: ServedBroker, kind: int, name: str, *keys: str
) -> dict[str, DescribeConfigsResourceResult]:
    """The rows of one resource by the names of the settings, with synonyms."""
    resource = DescribeConfigsResource(kind, name, list(keys) or None)
    (result,) = (await served.ask(DescribeConfigsRequest([resource], True), 4)).results
    assert result.error_code == 0, result
    return {row.name: row for row in result.configs}


async def value(served: ServedBroker, kind: int, name: str, key: str) -> tuple[str | None, int]:
    """The value of a setting, and its source."""
    row = (await described(served, kind, name, key))[key]
    return row.value, row.config_source


async def own(served: ServedBroker, kind: int, name: str, keys: Sequence[str]) -> dict[str, Any]:
    """Those of the named settings that the resource has itself, and their values."""
    mine = {TOPIC: 1, BROKER: 2 if name else 3}[ConfigResourceType(kind)]
    rows = await described(served, kind, name, *keys)
    return {key: row.value for key, row in rows.items() if row.config_source == mine}
