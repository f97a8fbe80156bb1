"""The plugin: read the rules of a file, and intercept the requests that they fit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from attrs import frozen

from trio_kafka.plugin import Outside, PluginContext, plugin, string
from trio_kafka.testing.fault_rules import FaultRules, RuleError, read_rules
from trio_kafka.testing.faults import Faults


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
    faults = Faults([], settings.seed)
    found = await _read(context, settings.rules)
    with context.node.child("rules", "part") as node:
        rules = FaultRules(faults, context.parts.apis, node, most=len(found))
        for number, said in enumerate(found, 1):
            try:
                rules.add(said)
            except RuleError as error:
                raise RuleError(f"{settings.rules}: rule {number}: {error}") from error
        for place in faults.interceptors():
            context.intercept(place.kind, place.request, place.function)
        yield


async def _read(context: PluginContext[ChaosSettings], path: str) -> list[Any]:
    """Return the rules of a file. Raises OSError, or RuleError for a file without rules."""
    place, _, name = path.rpartition("/")
    file = context.world.directory(place or ("/" if path.startswith("/") else ".")).open(name)
    try:
        text = bytearray(file.size)
        await file.read(0, text)
    finally:
        file.close()
    return read_rules(name, text.decode())
