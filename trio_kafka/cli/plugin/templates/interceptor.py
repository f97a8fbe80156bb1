"""Template of a plugin that intercepts requests."""

from typing import Final

ABOUT: Final = """It rejects records for topics whose names begin with a prefix, and counts the
requests that it lets pass."""
SETTINGS: Final = """\
| `plugin.@NAME@.prefix` | `private-` | Prefix of the topics that clients must not write to. |"""
MODULE: Final = '''\
"""Reject records for topics whose names begin with a prefix."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trio_kafka.attributes import frozen
from trio_kafka.plugin import Context, ErrorCode, KafkaError, PluginContext, plugin, string
from trio_kafka.protocol.messages.k00_produce import ProduceRequest


@frozen(kw_only=True)
class @CLASS@Settings:
    """Settings `plugin.@NAME@.<name>`; a `_` in a field is a `.` in its setting."""

    prefix: str = string("private-", "Prefix of the topics that clients must not write to.")


@plugin("@NAME@", settings=@CLASS@Settings)
@asynccontextmanager
async def @MODULE@(context: PluginContext[@CLASS@Settings]) -> AsyncIterator[None]:
    """Reject records for topics with a prefix."""
    prefix = context.settings.prefix
    passed = context.counter("passed")

    def check(request: ProduceRequest, _: Context) -> None:
        for topic in request.topic_data:
            name = context.topic_name(topic)
            if name.startswith(prefix):
                reason = f"{name}: clients must not write to topics of {prefix}"
                raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
        passed.value += 1

    context.before(ProduceRequest, check)
    yield  # ready; everything added is removed when the block ends
'''
TESTS: Final = '''\
"""The plugin in a broker of the test kit, which any client may use."""

import pytest

from @MODULE@ import @MODULE@
from trio_kafka.plugin import ErrorCode, KafkaError


@pytest.mark.kafka(plugins=[@MODULE@])
def test_other_topics_are_written_to(kafka) -> None:
    kafka.produce("orders", "tea")

    assert [record.text for record in kafka.records("orders")] == ["tea"]


@pytest.mark.kafka(plugins=[@MODULE@])
def test_topics_with_the_prefix_are_not_written_to(kafka) -> None:
    with pytest.raises(KafkaError) as caught:
        kafka.produce("private-orders", "tea")

    assert caught.value.code is ErrorCode.POLICY_VIOLATION


@pytest.mark.kafka(plugins=[@MODULE@], settings={"plugin.@NAME@.prefix": "secret-"})
def test_the_prefix_is_a_setting(kafka) -> None:
    kafka.produce("private-orders", "tea")
    with pytest.raises(KafkaError):
        kafka.produce("secret-orders", "tea")
'''
