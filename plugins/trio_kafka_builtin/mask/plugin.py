"""The plugin `mask`: its settings and its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, PluginError, integer, password, plugin, string, texts


def _check(text: str | None) -> None:
    from trio_kafka_builtin.mask.rules import parse_rules  # noqa: PLC0415 - off by default

    parse_rules(text)


@frozen(kw_only=True)
class MaskSettings:
    """Settings `plugin.mask.<name>`."""

    rules: str = string(
        "", "Masked fields: `topic: field=how field.field=how; topic: ...`.", check=_check
    )
    salt: str | None = password(
        None, "Secret of `hash`: equal values have equal hashes under one salt."
    )
    unreadable: str = string(
        "drop",
        "Values that are not JSON: passed on, replaced by null, or an error.",
        choices=("pass", "drop", "error"),
    )
    max_value_bytes: int = integer(
        65536, "Largest value that is parsed, in one step; larger ones count as not JSON.", low=1
    )
    except_principals: tuple[str, ...] = texts(
        (), "Principals that see all fields, as `User:name`."
    )
    except_clients: tuple[str, ...] = texts(
        (), "Client ids that see all fields. Clients choose their id freely."
    )
    replica_listener: str = string("", "Listener whose followers are trusted; empty: none.")


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
