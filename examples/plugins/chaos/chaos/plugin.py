"""The plugin: read the rules of a file, and intercept the requests that they fit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.controls.faults import Faults, RuleError
from trio_kafka.controls.faults.tables import rules_of
from trio_kafka.plugin import Outside, PluginContext, plugin, string


@frozen(kw_only=True)
class ChaosSettings:
    """`plugin.chaos.<name>`; a `_` of a field is a `.` of its setting."""

    rules: str = string(
        "rules.toml", "A file of rules, TOML or JSON, read at each start.", names=Outside.FILE
    )
    seed: str = string("0", "Equal seeds and equal requests give equal faults.")


@plugin("chaos", settings=ChaosSettings, order=0, enabled=False)
@asynccontextmanager
async def chaos(context: PluginContext[ChaosSettings]) -> AsyncIterator[None]:
    """Delay, fail or disconnect requests, by rules in a file."""
    settings = context.settings
    rules = rules_of(settings.rules, await _read(context, settings.rules), context.parts.apis)
    with context.node.child("rules", "part") as node:
        faults = Faults(context, seed=settings.seed, node=node)
        try:
            faults.add_all(rules)
        except RuleError as error:
            raise RuleError(f"{settings.rules}: {error}") from error
        try:
            yield
        finally:
            faults.clear()


async def _read(context: PluginContext[ChaosSettings], path: str) -> str:
    """Return the text of a file. Raises OSError."""
    place, _, name = path.rpartition("/")
    file = context.world.directory(place or ("/" if path.startswith("/") else ".")).open(name)
    try:
        text = bytearray(file.size)
        await file.read(0, text)
    finally:
        file.close()
    return text.decode()
