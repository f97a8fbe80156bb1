"""The plugin `mask`: its settings and its life. What it does is imported when it is turned on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, PluginError, integer, password, plugin, string, texts


def _check(text: str | None) -> None:
    from trio_kafka_builtin.mask.rules import parse_rules  # noqa: PLC0415 - off by default

    parse_rules(text)


@frozen(kw_only=True)
class MaskSettings:
    """`plugin.mask.<name>`."""

    rules: str = string(
        "", "What is masked: `topic: field=how field.field=how; topic: ...`.", check=_check
    )
    salt: str | None = password(None, "The secret of `hash`: equal values are equal with the same.")
    unreadable: str = string(
        "drop",
        "What becomes of values that are no JSON: given as they are, as null, or an error.",
        choices=("pass", "drop", "error"),
    )
    max_value_bytes: int = integer(
        65536, "Larger values are not parsed, and so are unreadable: one is a turn.", low=1
    )
    except_principals: tuple[str, ...] = texts((), "Who sees everything, as `User:name`.")
    except_clients: tuple[str, ...] = texts(
        (), "Client ids that see everything: for those who can be believed."
    )
    replica_listener: str = string(
        "", "The listener on which followers are believed to be such; empty: none."
    )


# Innermost, so that other plugins see what clients do; closed: nothing is read past it.
@plugin("mask", settings=MaskSettings, order=900, limit=4, enabled=False, closed=True)
@asynccontextmanager
async def mask(context: PluginContext[MaskSettings]) -> AsyncIterator[None]:
    """Rewrites fields of JSON values in fetches: redacts, hashes, keeps the last characters."""
    from trio_kafka.protocol.messages.k01_fetch import FetchRequest  # noqa: PLC0415
    from trio_kafka_builtin.mask.fetches import Masker  # noqa: PLC0415
    from trio_kafka_builtin.mask.rules import hashes, parse_rules  # noqa: PLC0415

    settings = context.settings
    rules = parse_rules(settings.rules)
    if not rules:
        raise PluginError("plugin.mask.rules is empty: nothing would be masked")
    if hashes(rules) and not settings.salt:
        raise PluginError("plugin.mask.salt must be set: a hash without a secret can be guessed")
    masker = Masker(context, rules, settings.salt or "")
    context.around(FetchRequest, masker.around)
    yield
