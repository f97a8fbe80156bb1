"""The plugin `mask`: its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trio_kafka.plugin import PluginContext, PluginError, plugin
from trio_kafka_builtin.mask.settings import MaskSettings


# Innermost, so that other plugins see masked data; fails closed.
@plugin("mask", settings=MaskSettings, order=900, limit=4, enabled=False, closed=True)
@asynccontextmanager
async def mask(context: PluginContext[MaskSettings]) -> AsyncIterator[None]:
    """Mask fields of JSON values in Fetch responses: redact, hash, keep the last characters."""
    from trio_kafka.protocol.messages.k01_fetch import FetchRequest  # noqa: PLC0415
    from trio_kafka_builtin.mask.interceptor import MaskInterceptor  # noqa: PLC0415
    from trio_kafka_builtin.mask.rules import hashes, parse_rules  # noqa: PLC0415

    settings = context.settings
    rules = parse_rules(settings.rules)
    if not rules:
        raise PluginError("plugin.mask.rules is empty: nothing would be masked")
    if hashes(rules) and not settings.salt:
        raise PluginError("plugin.mask.salt must be set: a hash without a secret can be guessed")
    masker = MaskInterceptor(context, rules, settings.salt or "")
    context.around(FetchRequest, masker.around)
    yield
