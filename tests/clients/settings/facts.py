"""Settings of Kafka's clients, as Apache Kafka 4.4.0 declares them."""

import json
from pathlib import Path
from typing import Any

from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.without_effect import WITHOUT_EFFECT
from trio_kafka.config.setting import Setting, declared_settings

_TESTS = Path(__file__).parents[2]
_DATA = json.loads((Path(__file__).parent / "kafka-4.4-client-settings.json").read_text())


def names_of(client: str) -> set[str]:
    """Names of all settings of a client: producer, consumer or admin."""
    data = json.loads((_TESTS / "config" / "data" / "kafka-4.4-other-names.json").read_text())
    return set(data[client])


def facts_of(client: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _DATA[client]}


def differences(cls: type[ClientSettings], client: str) -> dict[str, tuple[object, object]]:
    """Differences between our declarations and Kafka's, by name."""
    facts = facts_of(client)
    ours = declared_settings(cls)
    return {
        name: (_said(setting), facts.get(name) and _fact(facts[name]))
        for name, setting in ours.items()
        if name not in facts or _said(setting) != _fact(facts[name])
    }


def undeclared(cls: type[ClientSettings], client: str) -> set[str]:
    """Names of Kafka's client that are neither fields nor listed as without effect."""
    return names_of(client) - declared_settings(cls).keys() - WITHOUT_EFFECT.keys()


def _said(setting: Setting) -> tuple[object, ...]:
    default = None if setting.required else setting.show(setting.default)
    if setting.choices:
        valid = sorted(setting.choices)
        bounds = f"{'(case insensitive) ' if setting.any_case else ''}{valid}"
        return setting.kind.name.lower(), default, bounds
    if setting.low is None:
        return setting.kind.name.lower(), default, None
    high = "" if setting.high is None else f",{setting.high}"
    also = "".join(f" or {value}" for value in setting.also)
    return setting.kind.name.lower(), default, f"[{setting.low},...{high}]{also}"


def _fact(fact: dict[str, Any]) -> tuple[object, ...]:
    valid = fact.get("valid")
    default = fact.get("default")
    if valid is not None and "..." not in valid and ", " in valid:
        prefix = "(case insensitive) " if valid.startswith("(case") else ""
        items = valid.removeprefix(prefix).strip("[]").split(", ")
        valid = f"{prefix}{sorted(items)}"
    if valid is not None and (valid == "non-empty string" or "by_duration" in valid):
        valid = None  # checked by a function
    return fact["type"], default, valid
